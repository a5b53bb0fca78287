"""Speed of the BVH and AMC readers beside other Python libraries, on the same files.

    python benchmarks/motion_files.py --data DIR

DIR holds bvh_mb/01/01_01.bvh and asfamc/01/01_01.amc (CMU motion capture). Every reader
reads the whole file into numbers; all take turns, and the best of all rounds counts, in
CPU time of one thread. A library that is not installed is left out.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _harness import CMU, in_turn, run

from ambulo.motion.formats.amc import read_amc
from ambulo.motion.formats.bvh import read_bvh
from ambulo.motion.formats.files import read_motion

BVH, AMC, ASF = "bvh_mb/01/01_01.bvh", "asfamc/01/01_01.amc", "asfamc/01/01.asf"
OURS = "ambulo"

Reader = Callable[[], int]
"""Reads the file; how many frames it has found."""


def bvh_readers(path: Path) -> dict[str, Reader]:
    """All readers of BVH that are installed."""
    readers: dict[str, Reader] = {
        OURS: lambda: len(read_bvh(path).values),
        "ambulo, as a Motion (quaternions, metres)": lambda: len(read_motion(path)),
        "numpy.loadtxt (motion block only)": lambda: len(
            np.loadtxt(io.StringIO(path.read_text().partition("Frame Time:")[2][12:]))
        ),
    }
    with contextlib.suppress(ImportError):
        import pybvh

        readers[titled("pybvh")] = lambda: len(pybvh.read_bvh_file(path).root_pos)
    with contextlib.suppress(ImportError):
        import bvhio

        readers[f"{titled('bvhio')} (readAsBvh)"] = lambda: (
            bvhio.readAsBvh(str(path)).FrameCount
        )
    with contextlib.suppress(ImportError):
        stand_in_for_pkg_resources()
        import bvhtoolbox

        readers[titled("bvhtoolbox")] = lambda: len(
            bvhtoolbox.get_motion_data(bvhtoolbox.BvhTree(path.read_text()))
        )
    return readers


def amc_readers(path: Path, asf: Path) -> dict[str, Reader]:
    """All readers of AMC that are installed."""
    readers: dict[str, Reader] = {
        OURS: lambda: len(read_amc(path).values),
        "ambulo, as a Motion (with its ASF)": lambda: len(read_motion(path)),
        "line by line, float()": lambda: len(line_by_line(path)),
    }
    with contextlib.suppress(ImportError):
        import pyacclaim

        with contextlib.redirect_stdout(io.StringIO()):  # it prints in any case
            skeleton = pyacclaim.loadASF(str(asf), verbose=False)
        # It leaves the last frame out.
        readers[titled("pyacclaim")] = lambda: (
            len(pyacclaim.loadAMC(skeleton, str(path))) + 1
        )
    return readers


def line_by_line(path: Path) -> list[dict[str, list[float]]]:
    """A small AMC parser: a dict of lists of floats for each frame."""
    frames: list[dict[str, list[float]]] = []
    for line in path.read_text().splitlines():
        words = line.split()
        if words[0].isdigit():
            frames.append({})
        elif words[0][0] not in "#:":
            frames[-1][words[0]] = [float(word) for word in words[1:]]
    return frames


def titled(package: str) -> str:
    """The name of a package and its version."""
    return f"{package} {importlib.metadata.version(package)}"


def stand_in_for_pkg_resources() -> None:
    """Stand-in for `pkg_resources`, which bvhtoolbox 0.1.3 imports and setuptools lacks."""
    if "pkg_resources" not in sys.modules:
        module = types.ModuleType("pkg_resources")
        vars(module)["get_distribution"] = importlib.metadata.distribution
        sys.modules["pkg_resources"] = module


def measure(data: Path = CMU, rounds: int = 5) -> dict[str, Any]:
    """Speed of each reader by format."""
    rows = {}
    for kind, path, readers in (
        ("BVH", data / BVH, bvh_readers(data / BVH)),
        ("AMC", data / AMC, amc_readers(data / AMC, data / ASF)),
    ):
        frames = {name: reader() for name, reader in readers.items()}  # compiles, too
        if len(set(frames.values())) != 1:
            raise SystemExit(f"the readers disagree on the number of frames: {frames}")
        for name, taken in in_turn(readers, rounds).items():
            speed = path.stat().st_size / 1e6 / min(taken)
            rows[f"{kind}: {name}"] = {"seconds": min(taken), "mb_s": speed}
    return {"rows": rows}


if __name__ == "__main__":
    run(
        measure, {"rounds": 1},
        [("rows.BVH: ambulo.mb_s", ">=", 16.0), ("rows.AMC: ambulo.mb_s", ">=", 25.0)],
    )  # fmt: skip
