from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import MotionFileError
from ambulo.motion.formats.files import write_motion
from ambulo.motion.formats.npz import read_npz
from ambulo.motion.motion import Motion

Walk = Callable[..., Motion]
FIELDS = ("offsets", "rest", "axes", "limits", "tips")


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def header(changes: dict[str, object]) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        old = json.loads(np.load(io.BytesIO(files["header.npy"])).tobytes())
        text = json.dumps({**old, **changes}).encode()
        files["header.npy"] = npy(np.frombuffer(text, dtype=np.uint8))

    return change


def array(name: str, value: np.ndarray) -> Callable[[dict[str, bytes]], None]:
    return lambda files: files.update({f"{name}.npy": npy(value)})


def huge(files: dict[str, bytes]) -> None:
    buffer = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (10**9, 31, 4)}
    np.lib.format.write_array_header_1_0(buffer, shape)
    files["rotations.npy"] = buffer.getvalue()


def nested(files: dict[str, bytes]) -> None:
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': " + b"(" * 9000 + b"}"
    size = len(text).to_bytes(2, "little")
    files["rotations.npy"] = b"\x93NUMPY\x01\x00" + size + text


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (header({"format": "other"}), "format is not"),
        (header({"version": 2}), "version 2; this program reads version 1"),
        (header({"fps": "fast"}), "'fps'"),
        (header({"fps": -1}), "'fps'"),
        (header({"fps": 10**400}), "an integer of 401 digits"),
        (header({"joints": [1, 2]}), "'joints'"),
        (header({"joints": ["a"]}), "parent"),
        (header({"parents": [-1, 5] + [0] * 29}), "must come before"),
        (header({"parents": [True] * 31}), "'parents'"),
        (header({"orders": ["QQQ"] * 31}), "orders"),
        (header({"tip_parents": [10**30] * 7}), "tip"),
        (header({"name": "\ud800"}), "is not text: half a character"),
        (array("rotations", np.zeros((5, 31, 4))), "unit quaternions"),
        *(
            (array(name, np.array(1.0)), f"no array '{name}'")
            for name in (*FIELDS, "root_positions", "rotations")
        ),
        (array("joint_offsets", np.array(1.0)), "shape"),
        *(
            (array(name, np.full(shape, 1e200)), "unit quaternions")
            for name, shape in (("rest", (31, 4)), ("rotations", (5, 31, 4)))
        ),
        (array("offsets", np.full((31, 3), np.inf)), "finite"),
        (array("header", np.frombuffer(b"\xff{", dtype=np.uint8)), "not valid JSON"),
        (lambda files: files.pop("header.npy"), "no header"),
        (huge, "does not fit"),
        (nested, "damaged"),
    ],
)
def test_broken_rules(
    tmp_path: Path,
    walk_motion: Walk,
    change: Callable[[dict[str, bytes]], None],
    rule: str,
) -> None:
    path = tmp_path / "walk.npz"
    write_motion(path, walk_motion(5))
    files = members(path)
    change(files)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    with pytest.raises(MotionFileError, match=rule):
        read_npz(path)
