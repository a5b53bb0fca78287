"""Whatever the bytes of a file: a motion or a `MotionFileError`, and no warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fixtures.motion_texts import DEEPMIMIC
from hypothesis import given
from hypothesis import strategies as st

from ambulo.configs.errors import MotionFileError
from ambulo.motion.formats.bvh import read_bvh
from ambulo.motion.formats.files import read_motion, write_motion
from ambulo.motion.motion import Motion

Changes = list[tuple[float, int, bytes]]
ENDINGS = (".bvh", ".amc", ".npz", ".txt")


@pytest.fixture(scope="module")
def good(
    tmp_path_factory: pytest.TempPathFactory, walk_motion: Callable[..., Motion]
) -> Path:
    """A folder with a small good file of every format."""
    folder = tmp_path_factory.mktemp("good")
    for ending in (".bvh", ".amc", ".npz"):
        write_motion(folder / f"good{ending}", walk_motion(2))
    (folder / "good.txt").write_text(DEEPMIMIC)
    for ending in ENDINGS:
        assert len(read_motion(folder / f"good{ending}")) in {2, 3}
    return folder


def only_known_errors(path: Path) -> None:
    """A motion or a `MotionFileError`, and no warning on the way."""
    error = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            read_motion(path, drop_tpose=True)
        except MotionFileError as caught:
            error = caught
    assert "\n" not in str(error)


mutations = st.lists(
    st.tuples(
        st.floats(0.0, 1.0),
        st.integers(0, 12),
        st.binary(max_size=6)
        | st.sampled_from(
            [
                b" ",
                b"\n",
                b"{",
                b"}",
                b"-",
                b"9" * 20,
                b"1e308",
                b"nan",
                b"\0",
                b"JOINT x",
            ]
        ),
    ),
    min_size=1,
    max_size=4,
)


def mutated(data: bytes, changes: Changes) -> bytes:
    for where, cut, new in changes:
        at = int(where * len(data))
        data = data[:at] + new + data[at + cut :]
    return data


@given(changes=mutations, ending=st.sampled_from(ENDINGS))
def test_mutated_files(good: Path, changes: Changes, ending: str) -> None:
    path = good / f"bad{ending}"
    path.write_bytes(mutated((good / f"good{ending}").read_bytes(), changes))
    (good / "bad.asf").write_bytes((good / "good.asf").read_bytes())
    only_known_errors(path)


@given(changes=mutations)
def test_mutated_skeletons(good: Path, changes: Changes) -> None:
    skeleton = good / "bad_skeleton.asf"
    skeleton.write_bytes(mutated((good / "good.asf").read_bytes(), changes))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            motion = read_motion(good / "good.amc", asf=skeleton)
        except MotionFileError:
            return
    assert len(motion) == 2


@given(
    data=st.binary(max_size=400),
    start=st.sampled_from(
        [b"", b"HIERARCHY\n", b":DEGREES\n1\n", b'{"Frames": [', b"PK"]
    ),
    ending=st.sampled_from(ENDINGS),
)
def test_random_bytes(good: Path, data: bytes, start: bytes, ending: str) -> None:
    path = good / f"random{ending}"
    path.write_bytes(start + data)
    only_known_errors(path)


@given(st.lists(st.floats(-1e9, 1e9), min_size=6, max_size=6), st.integers(0, 20))
def test_printed_numbers_are_read_exactly(
    good: Path, values: list[float], digits: int
) -> None:
    """The double nearest to the text, however many digits it has."""
    texts = [
        f"{v:.{digits}f}" if i % 2 else f"{v:.{digits}e}" for i, v in enumerate(values)
    ]
    channels = "Xposition Yposition Zposition Zrotation Xrotation Yrotation"
    path = good / "numbers.bvh"
    path.write_text(
        f"HIERARCHY\nROOT a\n{{\nOFFSET 0 0 0\nCHANNELS 6 {channels}\n}}\n"
        f"MOTION\nFrames: 1\nFrame Time: 1\n{' '.join(texts)}\n"
    )
    row = read_bvh(path).values[0]
    assert row.tobytes() == np.array([float(t) for t in texts]).tobytes()
