"""Recordings of trackers: what is written is read, and what is damaged is refused."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fixtures.motion import make_walk
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.configs.errors import IKError, MotionFileError
from ambulo.ik.trackers.conventions import CONVENTIONS
from ambulo.ik.trackers.layout import HEAD_ROW, HIPS_ROW, TRACKED, TRACKERS
from ambulo.ik.trackers.record_motion import record_motion
from ambulo.ik.trackers.recording import (
    MOST_ROWS,
    Recording,
    is_recording,
    read_recording,
    recording_bytes,
    recording_of,
    write_recording,
)
from ambulo.ik.trackers.recording_lines import MOST_LINE, parse_header, parse_row
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.motion import Motion

HEADER = (
    '{"format": "ambulo-trackers", "version": 1, "convention": "openxr", '
    '"trackers": ["Head", "LeftHand"]}'
)
ROW = "[0.5, [0, 1.7, 0, 0, 0, 0, 1], null]"


def text(*lines: str) -> bytes:
    return ("\n".join(lines) + "\n").encode()


@pytest.fixture(scope="session")
def short(walk: Motion) -> Recording:
    """A tenth of a second of a headset and a hand."""
    return record_motion(walk[:6], ("Head", "LeftHand"), axes="unreal")


def test_a_written_recording_is_read(walk: Motion, tmp_path: Path) -> None:
    for axes in CONVENTIONS:
        made = record_motion(walk[:30], axes=axes, dropouts=3.0, dropout_seconds=0.1)
        file = tmp_path / f"{axes}.trackers"
        write_recording(file, made)
        assert is_recording(file)
        again = read_recording(file)
        assert again.header.convention == axes
        assert again.header.trackers == ("Head", "LeftHand", "RightHand")
        np.testing.assert_array_equal(again.present, made.present)
        assert not again.present[:, [2, 3, HIPS_ROW]].any()
        assert 0 < again.present.sum() < 90
        np.testing.assert_allclose(again.times, made.times, atol=1e-6)
        np.testing.assert_allclose(again.positions, made.positions, atol=1e-6)
        np.testing.assert_allclose(again.rotations, made.rotations, atol=1e-6)
        assert again.rate == 60.0
        shape = again.header.player()
        assert shape is not None
        np.testing.assert_allclose(shape.ratios, 1.0, atol=0.2)


def test_the_joints_of_a_recording_are_those_of_the_motion(walk: Motion) -> None:
    names = ("Head", "LeftHand", "RightHand", "LeftFoot", "RightFoot", "Hips")
    positions, turns = motion_kinematics(walk)
    for axes in CONVENTIONS:
        made = recording_of(recording_bytes(record_motion(walk, names, axes=axes)))
        samples = list(made.joints())
        places = np.array([sample.positions for sample in samples])
        np.testing.assert_allclose(places, positions[:, TRACKED], atol=2e-6)
        dots = np.array([sample.rotations for sample in samples]) * turns[:, TRACKED]
        np.testing.assert_allclose(np.abs(dots.sum(-1)), 1.0, atol=1e-6)


def test_rate_noise_and_dropouts(walk: Motion) -> None:
    made = record_motion(walk, ("Head",), rate=90.0, noise=0.001, turn_noise=0.01)
    assert made.rate == 90.0
    assert made.duration == pytest.approx(walk.duration, abs=1 / 90)
    quiet = record_motion(walk, ("Head",), rate=90.0)
    off = (made.positions - quiet.positions)[:, HEAD_ROW]
    assert 0.0008 < off.std() < 0.0012
    lost = record_motion(walk, ("Head",), dropouts=1.0, dropout_seconds=0.25, seed=1)
    assert 0.05 < 1.0 - lost.present[:, HEAD_ROW].mean() < 0.6
    with pytest.raises(IKError, match="unknown tracker 'Nose'"):
        record_motion(walk, ("Nose",))
    with pytest.raises(IKError, match="noise must be at least 0"):
        record_motion(walk, noise=-1.0)


def test_mounts_and_ground_are_in_the_units_of_the_file() -> None:
    header = parse_header(
        '{"format": "ambulo-trackers", "version": 1, "convention": "unreal", '
        '"trackers": ["Hips"], "ground": 25, '
        '"mounts": {"Hips": [10, 5, -2, 0, 0, 0, 1]}, "shape": {"stature": 1.8375}}'
    )
    assert header.ground_height == 0.25
    np.testing.assert_allclose(
        header.joint_mounts().positions[HIPS_ROW], [0.1, -0.05, -0.02]
    )
    shape = header.player()
    assert shape is not None
    np.testing.assert_allclose(shape.ratios, 1.05)


def test_a_mount_s_quaternion_of_another_length_is_normalised(
    caplog: pytest.LogCaptureFixture,
) -> None:
    mounts = ', "mounts": {"Head": [0, 0, 0, 0, 0, 0, 1.4]}}'
    header = parse_header(HEADER[:-1] + mounts)
    assert "mounts: Head: a quaternion of length 1.4; normalised" in caplog.text
    turn = header.joint_mounts().rotations[HEAD_ROW]
    assert np.linalg.norm(turn) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("lines", "line", "rule"),
    [
        ((), 0, "is empty"),
        (("nonsense",), 1, "not valid JSON"),
        (("[1, 2]",), 1, "expected a header"),
        ((HEADER.replace('"version": 1', '"version": 2'), ROW), 1, "version 2"),
        ((HEADER.replace("openxr", "openvr"), ROW), 1, "convention"),
        ((HEADER[:-1] + ', "version": 1}', ROW), 1, "'version': given twice"),
        ((HEADER.replace('"LeftHand"', '"Head"'), ROW), 1, "each may be named once"),
        ((HEADER.replace('"LeftHand"', '"Nose"'), ROW), 1, "Nose"),
        ((HEADER[:-1] + ', "colour": 1}', ROW), 1, "unknown key 'colour'"),
        ((HEADER[:-1] + ', "ground": 1e9}', ROW), 1, "ground"),
        ((HEADER[:-1] + ', "shape": {"stature": 9}}', ROW), 1, "stature must be from"),
        ((HEADER[:-1] + ', "shape": {"arm": 1}}', ROW), 1, "expected a stature, or"),
        ((HEADER[:-1] + ', "mounts": {"Head": [0,0,0,0,0,0,2]}}', ROW), 1, "unit"),
        ((HEADER,), 1, "has no rows"),
        ((HEADER, ""), 2, "not valid JSON"),
        ((HEADER, ROW, "[1.0, null]"), 3, "time and 2 poses"),
        ((HEADER, ROW, ROW), 3, "the time must grow: 0.5 s after 0.5 s"),
        ((HEADER, "[NaN, null, null]"), 2, "NaN is not a JSON number"),
        ((HEADER, "[0, [0,0,0,0,0,0,Infinity], null]"), 2, "Infinity is not"),
        ((HEADER, "[0, [0,0,0,0,0,0,1e999], null]"), 2, "pose 1: expected numbers"),
        ((HEADER, "[0, null, [0,0,0,0,0,0,true]]"), 2, "pose 2: expected numbers"),
        ((HEADER, "[0, null, [0,0,0]]"), 2, "pose 2: expected null or 7 numbers"),
        ((HEADER, "[1e300, null, null]"), 2, "the time must be a number"),
        ((HEADER, "[" * 5000), 2, "nested too deep"),
        ((HEADER, "[" + " " * MOST_LINE + "]"), 2, "at most 8192 bytes"),
        ((HEADER, "[" + "9" * 6000 + ", null, null]"), 2, "the time must be"),
        ((HEADER[:-1] + ', "checksum": "crc32"}', ROW), 2, "the checksum is missing"),
        (
            (
                HEADER[:-1] + ', "checksum": "crc32"}',
                '{"rows": 0, "crc32": "00000000"}',
            ),
            2,
            "damaged",
        ),
    ],
)
def test_a_broken_rule_is_named_with_its_line(
    lines: tuple[str, ...], line: int, rule: str
) -> None:
    data = text(*lines) if lines else b""
    with pytest.raises(MotionFileError, match=re.escape(rule)) as caught:
        recording_of(data, "a.trackers")
    assert caught.value.line == line
    message = str(caught.value)
    assert message.startswith("a.trackers")
    assert "\n" not in message
    assert len(message) < 500


def test_too_many_lines_are_counted_before_they_are_split() -> None:
    data = HEADER.encode() + b"\n" * (4 * MOST_ROWS)
    tracemalloc.start()
    try:
        with pytest.raises(MotionFileError, match=f"more than {MOST_ROWS} rows"):
            recording_of(data, "a.trackers")
        assert tracemalloc.get_traced_memory()[1] < len(data)
    finally:
        tracemalloc.stop()


def test_rows_of_a_stream_may_say_anything_finite() -> None:
    header = parse_header(HEADER)
    row = parse_row("[7, [0, 1.7, 0, 0, 0, 0, 0.1], null]", header)
    assert row.time == 7.0
    np.testing.assert_allclose(row.positions[HEAD_ROW], [0.0, 0.0, 1.7])
    assert row.present.sum() == 1
    np.testing.assert_allclose(row.rotations[HEAD_ROW], [0.1, 0, 0, 0])


def whole_or_refused(data: bytes) -> Recording | None:
    """A recording of finite numbers of the right shape; None if refused in a line."""
    message = ""
    try:
        found = recording_of(data, "x")
    except MotionFileError as error:
        message = str(error)
    assert "\n" not in message
    if message:
        return None
    count = len(found.times)
    assert found.positions.shape == (count, TRACKERS, 3)
    assert found.rotations.shape == (count, TRACKERS, 4)
    assert found.present.shape == (count, TRACKERS)
    for array in (found.times, found.positions, found.rotations):
        assert np.isfinite(array).all()
    assert (np.diff(found.times) > 0).all()
    return found


def flipped(data: bytes, at: int, bit: int) -> bytes:
    made = bytearray(data)
    made[at % len(made)] ^= 1 << bit
    return bytes(made)


DAMAGES: dict[str, Callable[[bytes, int, int], bytes]] = {
    "flip": flipped,
    "cut": lambda data, at, _: data[: at % len(data)],
    "delete": lambda data, at, n: (
        data[: at % len(data)] + data[at % len(data) + n + 1 :]
    ),
    "insert": lambda data, at, n: (
        data[: at % len(data)] + bytes([n * 37 % 256]) + data[at % len(data) :]
    ),
}


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**31), st.integers(0, 7), st.sampled_from(sorted(DAMAGES)),
    st.booleans(),
)  # fmt: skip
def test_damage_at_any_byte(
    short: Recording, at: int, number: int, kind: str, checked: bool
) -> None:
    whole = recording_bytes(short)
    if not checked:  # as a program without a checksum writes it
        head, *rows, _ = whole.decode().splitlines()
        header = json.loads(head)
        del header["checksum"]
        whole = text(json.dumps(header), *rows)
    damaged = DAMAGES[kind](whole, at, number)
    found = whole_or_refused(damaged)
    if checked and damaged not in {whole, whole[:-1]}:
        assert found is None


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(MotionFileError, match="cannot be read: No such file"):
        read_recording(tmp_path / "none")
    with pytest.raises(MotionFileError, match="not a regular file"):
        read_recording(tmp_path)
    assert not is_recording(tmp_path)
    assert not is_recording(tmp_path / "none")


def test_a_motion_of_another_skeleton_is_retargeted() -> None:
    made = record_motion(make_walk(20), ("Head", "LeftFoot"))
    assert len(made) == 20
    shape = made.header.player()
    assert shape is not None
    assert 0.7 < shape.scale < 1.3
    assert 1.2 < made.positions[0, HEAD_ROW, 2] < 1.8
    assert made.present.sum() == 40
