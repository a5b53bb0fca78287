"""NPZ files that claim more than they hold are refused before anything is unpacked."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fixtures.poses import make_poses

from ambulo.configs.errors import AmbuloError, GaitDataError, IKError, MotionFileError
from ambulo.envs.reference.reference_file import load_reference
from ambulo.ik.data.pose_data import load_poses, save_poses
from ambulo.motion.formats.npz import read_npz
from ambulo.motion.gaits.shards import read_raw, read_refined

Read = Callable[[Path], object]
READERS: list[tuple[Read, type[AmbuloError], tuple[str, ...]]] = [
    (load_poses, IKError, ("root", "rotations", "clip")),
    (read_npz, MotionFileError, ("offsets", "rest", "axes")),
    (load_reference, MotionFileError, ("qpos_0", "qvel_0", "torque_0")),
    (read_refined, GaitDataError, ("params", "fps", "motions")),
    (read_raw, GaitDataError, ("lengths", "params", "motions")),
]


@pytest.mark.parametrize(("read", "kind", "names"), READERS)
def test_packed_zeros_are_not_unpacked(
    tmp_path: Path, read: Read, kind: type[AmbuloError], names: tuple[str, ...]
) -> None:
    path = tmp_path / "bomb.npz"
    with path.open("wb") as file:
        np.savez_compressed(file, **{name: np.zeros(2_000_000) for name in names})
    assert path.stat().st_size < 400_000
    refused_in_little_memory(path, read, kind)


@pytest.mark.parametrize(("read", "kind", "names"), READERS)
def test_members_that_share_their_bytes_are_not_read(
    tmp_path: Path, read: Read, kind: type[AmbuloError], names: tuple[str, ...]
) -> None:
    path = tmp_path / "shared.npz"
    path.write_bytes(overlapping(names, np.zeros(1_000_000)))
    assert path.stat().st_size < 8_100_000
    refused_in_little_memory(path, read, kind, most=2 * 8_100_000)


def overlapping(names: tuple[str, ...], array: np.ndarray) -> bytes:
    """A zip file whose members all name the bytes of the first."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w") as archive,
        archive.open(f"{names[0]}.npy", "w") as member,
    ):
        np.lib.format.write_array(member, array)
    data = buffer.getvalue()
    start = data.index(b"PK\x01\x02")
    entry, end = data[start : data.index(b"PK\x05\x06")], data.index(b"PK\x05\x06")
    old = f"{names[0]}.npy".encode()
    entries = b""
    for name in names:
        new = f"{name}.npy".encode()
        entries += entry[:28] + struct.pack("<H", len(new)) + entry[30:46]
        entries += new + entry[46 + len(old) :]
    tail = bytearray(data[end:])
    struct.pack_into("<HHI", tail, 8, len(names), len(names), len(entries))
    return data[:start] + entries + bytes(tail)


def refused_in_little_memory(
    path: Path, read: Read, kind: type[AmbuloError], most: int = 4_000_000
) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(kind, match=path.name):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def test_whole_poses_are_read_as_they_were(tmp_path: Path) -> None:
    data = make_poses(2, 10)
    save_poses(tmp_path / "poses.npz", data)
    again = load_poses(tmp_path / "poses.npz")
    assert again.header == data.header
    for name in ("root", "rotations", "clip", "frame", "contacts"):
        np.testing.assert_array_equal(getattr(again, name), getattr(data, name))
        assert getattr(again, name).dtype == getattr(data, name).dtype
