"""Every damaged file ends in `MotionFileError`, in bounded time and memory."""

from __future__ import annotations

import json
import os
import pickle
import re
import socket
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fixtures.motion_texts import AMC, ASF, BVH, DEEPMIMIC, FRAME, folder, refused

from ambulo.configs.errors import MotionError, MotionFileError
from ambulo.motion.formats.bvh import read_bvh
from ambulo.motion.formats.files import read_motion, write_motion
from ambulo.motion.formats.npz import packed
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.source import read_source
from ambulo.motion.skeleton import Skeleton

VALID = {".bvh": BVH, ".amc": AMC, ".txt": DEEPMIMIC}
Damage = Callable[[str], str]


def nested(depth: int) -> Damage:
    def change(text: str) -> str:
        opening = "".join(
            f"JOINT j{i}\n{{\nOFFSET 0 1 0\nCHANNELS 0\n" for i in range(depth)
        )
        return text.replace("    End Site", opening + "    End Site").replace(
            "-45 0\n    }\n", "-45 0\n    }\n" + "}\n" * depth
        )

    return change


def swap(old: str, new: str) -> Damage:
    assert any(old in text for text in (BVH, AMC, ASF))
    return lambda text: text.replace(old, new)


BVH_DAMAGE: list[tuple[str, Damage, int, str]] = [
    ("not_bvh", lambda _: "hello\nworld\n", 1, "expected HIERARCHY"),
    ("only_spaces", lambda _: " \n\n ", 1, "expected HIERARCHY"),
    ("cut_in_header", lambda t: t[:120], 6, "without a line MOTION"),
    ("no_motion", lambda t: t[: t.index("MOTION")], 16, "without a line MOTION"),
    ("only_motion", lambda t: t[: t.index("Frames")], 16, "expected lines"),
    ("no_rate", lambda t: t[: t.index("Frame Time")], 16, "expected lines"),
    ("no_frames_there", lambda t: t[: t.index("0 90")], 17, "claims 3 frames"),
    ("cut_between_frames", lambda t: t[: t.index("0 91")], 17, "claims 3 frames"),
    ("cut_in_frame", lambda t: t[: t.index(" 8e-1")], 21, "has 8 numbers; expected 9"),
    ("cut_in_number", lambda t: t[: t.index("-1\n")], 21, "'8e' is not a number"),
    ("frames_lost", lambda t: t[: t.index("0 91")] + "\n" * 20, 40, "after 1 of 3"),
    ("few_numbers", swap("91 0 1", "91 1"), 20, "has 8 numbers; expected 9"),
    ("many_numbers", swap("91 0 1", "91 0 1 1"), 20, "more than 9 numbers"),
    ("more_frames", lambda t: t + "0 9 0 1 2 3 4 5 6\n" * 2, 22, "after the last of 3"),
    ("nan", swap("7.5", "nan"), 20, "'nan' is not a number"),
    ("inf", swap("7.5", "-inf"), 20, "'-inf' is not a number"),
    ("indefinite", swap("7.5", "-1.#IND"), 20, "is not a number"),
    ("overflow", swap("7.5", "1e999"), 20, "beyond 1e[+]09"),
    ("too_large", swap("7.5", "3e9"), 20, "beyond 1e[+]09"),
    ("hex", swap("7.5", "0x1p3"), 20, "not a number"),
    ("comma", swap("7.5", "7,5"), 20, "'7,5' is not a number"),
    ("underscore", swap("7.5", "7_5"), 20, "'7_5' is not a number"),
    ("word", swap("7.5", "seven"), 20, "'seven' is not a number"),
    ("long_word", swap("7.5", "7" + "x" * 9999), 20, r"'7x+\.\.\.' is not a number"),
    ("zero_byte", swap("7.5", "7\0 5"), 20, "not a number"),
    ("letters_of_another_script", swap("7.5", "\u0667"), 20, "not a number"),
    ("zero_frames", swap("Frames: 3", "Frames: 0"), 17, "has no frames"),
    ("negative_frames", swap("Frames: 3", "Frames: -3"), 17, "number of frames"),
    ("half_frames", swap("Frames: 3", "Frames: 3.5"), 17, "number of frames"),
    ("claims_10^9", swap("Frames: 3", "Frames: 1000000000"), 17, "claims 1000000000"),
    ("claims_10^40", swap("Frames: 3", "Frames: " + "9" * 40), 17, "number of frames"),
    ("claims_5", swap("Frames: 3", "Frames: 5"), 17, "claims 5 frames"),
    ("negative_time", swap("Time: 0.01", "Time: -0.01"), 18, "frame time above 0"),
    ("zero_time", swap("Time: 0.01", "Time: 0"), 18, "frame time above 0"),
    ("nan_time", swap("Time: 0.01", "Time: nan"), 18, "'nan' is not a number"),
    ("denormal_time", swap("Time: 0.01", "Time: 1e-320"), 18, "frame time above 0"),
    ("no_name", swap("ROOT Hips", "ROOT"), 3, "no name"),
    ("same_name", swap("Knee", "Hips"), 6, "two joints are called 'Hips'"),
    ("secret_name", swap("Knee", "Kn\x1b[31mee"), 6, "cannot be printed"),
    (
        "two_roots",
        lambda t: t.replace("MOTION", "ROOT b\n{\nMOTION"),
        16,
        "second ROOT",
    ),
    ("joint_first", swap("ROOT Hips", "JOINT Hips"), 2, "expected ROOT, got 'JOINT'"),
    ("no_brace", lambda t: t.replace("{", "", 1), 4, "expected {, got 'OFFSET'"),
    ("no_end_brace", lambda t: t.replace("}\nMOTION", "MOTION"), 14, "ends where"),
    (
        "brace_too_many",
        swap("}\nMOTION", "}\n}\nMOTION"),
        16,
        "expected MOTION, got '}'",
    ),
    ("no_offset", swap("    OFFSET 0 -40 0\n", ""), 8, "expected OFFSET"),
    ("short_offset", swap("0 -40 0", "0 -40"), 9, "'CHANNELS' is not a number"),
    ("nan_offset", swap("0 -40 0", "0 nan 0"), 8, "'nan' is not a number"),
    ("7_channels", swap("CHANNELS 3", "CHANNELS 7"), 9, "0 to 6 channels, got 7"),
    ("4_of_3_channels", swap("CHANNELS 3", "CHANNELS 4"), 10, "expected 4 channels"),
    ("2_of_3_channels", swap("CHANNELS 3", "CHANNELS 2"), 9, "expected JOINT or END"),
    ("twice", swap("CHANNELS 3 Z", "CHANNELS 3 X"), 9, "Xrotation comes twice"),
    ("scale", swap("CHANNELS 3 Zrot", "CHANNELS 3 Zscal"), 9, "got 'Zscalation'"),
    ("no_channels", lambda t: t.replace("CHANNELS", "X"), 5, "expected JOINT or END"),
    ("half_site", swap("End Site", "End"), 11, "expected SITE"),
    ("unknown_word", swap("End Site", "Start Site"), 10, "got 'Start'"),
    ("5000_deep", nested(5000), 16386, "more than 4096 joints"),
    ("many_joints", lambda t: t.replace("OFFSET 0 -45 0", "OFFSET"), 13, "'}' is not"),
]
AMC_DAMAGE: list[tuple[str, Damage, int, str]] = [
    ("not_amc", lambda _: "hello\nworld\n", 1, "is no AMC file"),
    ("only_header", lambda t: t[: t.index("1\nroot")], 3, "has no frames"),
    ("only_number", lambda t: t[: t.index("root")], 4, "first frame has no bones"),
    ("cut_in_number", lambda t: t[: t.index("25\n")] + "e", 9, "not a number"),
    ("cut_in_line", lambda t: t[: t.index(" 5.25")], 9, "'knee' has fewer than 2"),
    ("cut_in_frame", lambda t: t[: t.index("knee 4 5.25")], 9, "without bone 'knee'"),
    ("cut_after_number", lambda t: t[: t.index("root 0 17.5")], 8, "without bone"),
    ("few_numbers", swap("17.5 0", "17.5"), 8, "'root' has fewer than 6"),
    ("many_numbers", swap("17.5 0", "17.5 0 0"), 8, "'root' has more than 6"),
    ("nan", swap("5.25", "nan"), 9, "'nan' is not a number"),
    ("inf", swap("5.25", "inf"), 9, "'inf' is not a number"),
    ("overflow", swap("5.25", "1e999"), 9, "beyond"),
    ("word", swap("17 0", "17 x"), 5, "'x' is not a number"),
    ("other_bone", swap("knee 4 5.25", "shin 4 5.25"), 9, "'shin' is not a bone of"),
    ("twice", swap("knee 4 5.25", "root 1 2 3 4 5 6"), 9, "'root' comes twice"),
    ("twice_at_first", swap("knee 4 5\n", "root 4\n"), 6, "comes twice"),
    ("gap", swap("\n2\n", "\n3\n"), 7, "frame number 2"),
    ("half_frame", swap("\n2\n", "\n2.5\n"), 7, "frame number 2"),
    ("number_and_more", swap("\n2\n", "\n2 2\n"), 7, "frame number 2"),
    ("huge_number", swap("\n2\n", "\n99999999999999999999\n"), 7, "frame number 2"),
    ("no_numbers", swap("knee 4 5\n", "knee\n"), 6, "'knee' has no numbers"),
    ("8_numbers", swap("knee 4 5\n", "knee 1 2 3 4 5 6 7\n"), 6, "more numbers than a"),
    (
        "negative_rate",
        swap(":DEG", ":SAMPLES-PER-SECOND -1\n:DEG"),
        3,
        "second above 0",
    ),
    ("no_rate", swap(":DEG", ":SAMPLES-PER-SECOND\n:DEG"), 3, "second above 0"),
]


@pytest.mark.parametrize("ending", VALID)
def test_the_whole_files_are_good(tmp_path: Path, ending: str) -> None:
    motion = read_motion(folder(tmp_path, ending, VALID[ending].encode()))
    assert len(motion) in {2, 3}


@pytest.mark.parametrize(
    ("ending", "damage", "line", "rule"),
    [
        pytest.param(ending, *case[1:], id=ending[1:] + "-" + case[0])
        for ending, cases in ((".bvh", BVH_DAMAGE), (".amc", AMC_DAMAGE))
        for case in cases
    ],
)
def test_damage(
    tmp_path: Path, ending: str, damage: Damage, line: int, rule: str
) -> None:
    text = damage(VALID[ending])
    assert text != VALID[ending]
    refused(folder(tmp_path, ending, text.encode()), line, rule)


def deepmimic(frames: list[list[float]]) -> str:
    return json.dumps({"Loop": "none", "Frames": frames})


def with_step(seconds: float) -> list[float]:
    return [seconds, *FRAME[1:]]


LONG = [*FRAME[:4], 1.3, 0, 0, 0, *FRAME[8:]]
EVEN = [with_step(0.05)] * 4


@pytest.mark.parametrize(
    ("ending", "text", "frames", "note"),
    [
        (".bvh", BVH.replace("Frames: 3", "Frames: 4"), 3, "Frames says 4, but there"),
        (".bvh", BVH.replace("Frames: 3", "Frames: 2"), 3, "Frames says 2, but there"),
        (".bvh", BVH[: BVH.index("0 92")], 2, "Frames says 3, but there are 2"),
        (".txt", deepmimic([FRAME, LONG]), 2, "of root have lengths of 1 to 1.3"),
        (
            ".txt",
            deepmimic([*EVEN, with_step(0.1), *EVEN]),
            10,
            "frames are 0.05 to 0.1 s apart; interpolated to 20 per second",
        ),
        (".npz", "", 3, "quaternions of rotations have lengths of 0.7 to 1; normal"),
    ],
)
def test_what_can_be_mended_is_noted_and_read(
    tmp_path: Path,
    ending: str,
    text: str,
    frames: int,
    note: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = folder(tmp_path, ending, text.encode())
    if ending == ".npz":
        write_motion(path, read_motion(folder(tmp_path, ".bvh", BVH.encode())))
        arrays = dict(np.load(path))
        arrays["rotations"] = arrays["rotations"].copy()
        arrays["rotations"][1, 0] *= 0.7
        path.write_bytes(packed(arrays))
    motion = read_motion(path)
    assert len(motion) == frames
    [found] = motion.notes
    assert note in found
    assert note in caplog.text
    np.testing.assert_allclose(np.linalg.norm(motion.rotations, axis=-1), 1.0)
    assert read_source(path).notes[0] == found
    with pytest.raises(MotionFileError, match=re.escape(note)):
        read_motion(path, strict=True)
    with pytest.raises(MotionFileError, match=re.escape(note)):
        read_source(path, strict=True)


@pytest.mark.parametrize(
    ("asf", "rule"), [("", "is empty"), ("\0\1\2", "not text|no ASF")]
)
def test_amc_with_a_damaged_skeleton(tmp_path: Path, asf: str, rule: str) -> None:
    path = folder(tmp_path, ".amc", AMC.encode(), asf)
    with pytest.raises(MotionFileError, match=rule):
        read_motion(path)


@pytest.mark.parametrize(
    "ending", [".bvh", ".amc", ".npz", ".txt", ".json", ".asf", ""]
)
def test_what_is_no_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x{ending}"
    refused(path, 0, "cannot be read: No such file|ending must be one of")
    path.mkdir()
    refused(path, 0, "is a folder|ending must be")
    path.rmdir()
    path.write_bytes(b"")
    refused(path, 0, "is empty|ending must be")


def test_no_device_pipe_or_socket_is_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.bvh"
    os.mkfifo(pipe)
    refused(pipe, 0, "not a regular file")
    device = tmp_path / "zero.bvh"
    device.symlink_to("/dev/zero")
    refused(device, 0, "not a regular file")
    loop = tmp_path / "loop.bvh"
    loop.symlink_to(loop)
    refused(loop, 0, "cannot be read")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s.bvh"))
        refused(tmp_path / "s.bvh", 0, "not a regular file")
    refused(tmp_path / ("n" * 300 + ".bvh"), 0, "cannot be read")
    refused(tmp_path / "a\0b.bvh", 0, "not a file name")


def test_no_permission(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read every file")
    path = folder(tmp_path, ".bvh", BVH.encode())
    path.chmod(0)
    refused(path, 0, "cannot be read: Permission denied")


def test_an_endless_file_is_refused_unread(tmp_path: Path) -> None:
    for ending in (".bvh", ".amc", ".npz", ".txt"):
        path = tmp_path / f"sparse{ending}"
        with path.open("wb") as file:
            file.truncate(2**40)
        refused(path, 0, "bytes; at most")


@pytest.mark.parametrize("ending", VALID)
@pytest.mark.parametrize("kind", ["latin1", "utf16", "binary", "zeros", "pickle"])
def test_no_text(tmp_path: Path, ending: str, kind: str) -> None:
    text = VALID[ending]
    name = {".bvh": "Hips", ".amc": "knee", ".txt": "Loop"}[ending]
    data = {
        "latin1": text.replace(name, "Hüfte").encode("latin1"),
        "utf16": text.encode("utf-16"),
        "binary": np.random.default_rng(0).bytes(20000),
        "zeros": bytes(1000),
        "pickle": pickle.dumps({"Frames": [1]}),
    }[kind]
    path = folder(tmp_path, ending, data)
    error = refused(path, None, ".")
    if kind == "latin1":
        assert "not UTF-8" in str(error)
        assert error.line == {".bvh": 2, ".amc": 6, ".txt": 1}[ending]


@pytest.mark.parametrize(
    "depth", [100, pytest.param(1500, marks=pytest.mark.integration)]
)
def test_deep_nesting_is_read(tmp_path: Path, depth: int) -> None:
    path = folder(tmp_path, ".bvh", nested(depth)(BVH).encode())
    motion = read_motion(path)
    assert len(motion.skeleton) == depth + 2
    assert motion.skeleton.parents[-1] == depth
    write_motion(path, motion)
    assert read_motion(path).skeleton.parents == motion.skeleton.parents


def test_writing_errors(tmp_path: Path, walk_motion: Callable[..., Motion]) -> None:
    motion = walk_motion(2)
    for ending in (".bvh", ".amc", ".npz"):
        with pytest.raises(MotionFileError, match="cannot be written"):
            write_motion(tmp_path / "none" / f"x{ending}", motion)
    with pytest.raises(MotionFileError, match="ending must be one of"):
        write_motion(tmp_path / "x.fbx", motion)
    with pytest.raises(MotionError, match="units"):
        write_motion(tmp_path / "x.bvh", motion, units="feet")
    root = Motion(
        Skeleton("root alone", ("a",), (-1,), np.zeros((1, 3))),
        30.0,
        np.zeros((2, 3)),
        motion.rotations[:, :1],
    )
    with pytest.raises(MotionFileError, match="ASF needs a bone"):
        write_motion(tmp_path / "x.amc", root)  # no reader would take such a file
    assert not list(tmp_path.iterdir())


def test_claims_cost_no_memory(tmp_path: Path) -> None:
    path = folder(
        tmp_path, ".bvh", BVH.replace("Frames: 3", "Frames: 999999999").encode()
    )
    read_motion(folder(tmp_path, ".amc", AMC.encode()))  # compile outside the measure
    tracemalloc.start()
    try:
        refused(path, 17, "claims 999999999 frames of 9 numbers")
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_memory_is_a_small_multiple_of_the_file(tmp_path: Path) -> None:
    """The densest table, two bytes a number, and it is damaged in its last line."""
    rows = 20000
    text = (
        BVH.replace("Frames: 3", f"Frames: {rows + 3}") + "1 2 3 4 5 6 7 8 9\n" * rows
    )
    data = text.encode()[:-2] + b"x\n"
    path = folder(tmp_path, ".bvh", data)
    tracemalloc.start()
    try:
        refused(path, 21 + rows, "'x' is not a number")
        assert tracemalloc.get_traced_memory()[1] < 8 * len(data)
    finally:
        tracemalloc.stop()


def test_many_long_numbers(tmp_path: Path) -> None:
    """Numbers of more than 16 digits are read by another way: as exact, lines as right."""
    rows, row = 5000, "1.2345678901234567891 " * 9 + "\n"
    text = BVH.replace("Frames: 3", f"Frames: {rows + 3}") + row * rows
    values = read_bvh(folder(tmp_path, ".bvh", text.encode())).values
    assert (values[3:] == 1.2345678901234567891).all()
    bad = text.replace("7.5", "1234567890.12345678901234567890")
    refused(folder(tmp_path, ".bvh", bad.encode()), 20, "beyond")
    lines = text.splitlines()
    lines[4500] = lines[4500].replace("1.23", "91234567891.23", 1)
    path = folder(tmp_path, ".bvh", "\n".join(lines).encode())
    refused(path, 4501, "'91234567891.2345678901234567891'|beyond")
    long = "17.512345678901234567890"
    frames = "".join(
        f"{i}\nroot 0 {long} 0 1 2 3\nknee {long} {long}\n" for i in range(3, 20003)
    )
    motion = read_motion(folder(tmp_path, ".amc", (AMC + frames).encode()), units=1.0)
    assert (motion.root_positions[2:, 2] == float(long)).all()
    bad = (AMC + frames).replace("5.25", "5" * 30)
    refused(folder(tmp_path, ".amc", bad.encode()), 9, "beyond")
