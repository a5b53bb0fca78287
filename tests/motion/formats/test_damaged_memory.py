"""Damaged and large motion files are read in bounded memory and time."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

from fixtures.motion_texts import AMC, BVH, folder, refused

from ambulo.motion.formats.bvh import read_bvh
from ambulo.motion.formats.files import read_motion


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
