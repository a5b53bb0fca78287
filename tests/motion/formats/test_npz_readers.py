"""Every NPZ file of the suite: read as written, and no damage that is not told in a line."""

from __future__ import annotations

import functools
import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from fixtures.equal import assert_same_bits
from fixtures.gait_data import raw_shard, refined_shard
from fixtures.motion import make_walk
from fixtures.poses import make_poses
from fixtures.trackers import sequences
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.configs.errors import AmbuloError, GaitDataError, IKError, MotionFileError
from ambulo.envs.characters.registry import load_character
from ambulo.envs.reference.balance import BalanceController
from ambulo.envs.reference.reference import (
    Reference,
    ReferenceMotion,
    load_reference,
    save_reference,
)
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.ik.data.pose_data import load_poses, save_poses
from ambulo.ik.data.sequences import load_sequences, save_sequences
from ambulo.motion.formats.npz import read_npz, write_npz
from ambulo.motion.gaits.shards import (
    read_head,
    read_raw,
    read_refined,
    write_raw,
    write_refined,
)
from ambulo.motion.motion import Motion


def motion() -> Motion:
    """A walk whose joints move away, with frames of its own and a name of two scripts."""
    walk, rng = make_walk(5), np.random.default_rng(1)
    axes = rng.normal(size=(len(walk.skeleton), 4))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    offsets = rng.normal(size=(5, len(walk.skeleton), 3))
    skeleton = walk.skeleton.replace(axes=axes)
    return walk.replace(skeleton=skeleton, joint_offsets=offsets, name="шаг 1")


def reference(*, periodic: bool) -> Reference:
    """A cycle with a controller; or two clips, with targets and the captured poses."""
    body, rng = load_character("human23"), np.random.default_rng(3)
    nq, nv = body.model.nq, body.model.nv

    def table(aim: ReferenceTable | None = None) -> ReferenceTable:
        rows = [rng.normal(size=(6, n)) for n in (nq, nv, nv)]
        stride = np.array([1.5, 0.1, 0.0])
        return ReferenceTable(1.2, stride, *rows, periodic=periodic, aim=aim)

    gains, dofs = rng.normal(size=(6, 2, 2 * nv)), np.array([6, 8])
    controller = BalanceController(gains, dofs, periodic=periodic)
    gaits = (ReferenceMotion(table(), controller, {"speed": 1.2}, name="walk"),)
    if not periodic:
        gaits += (ReferenceMotion(table(table()), None, {}, "fall", table()),)
    return Reference("two", "human23", 1.0 / 30.0, gaits, joints=body.joint_names)


class Format(NamedTuple):
    """One kind of file."""

    make: Callable[[], Any]
    write: Callable[[Path, Any], None]
    read: Callable[[Path], Any]
    error: type[AmbuloError]
    array: str  # a member of numbers
    unpacked: tuple[str, ...]  # members that are large


FORMATS = {
    "motion": Format(motion, write_npz, read_npz, MotionFileError, "rotations",
                     ("offsets", "rest", "axes")),
    "poses": Format(functools.partial(make_poses, 2, 10), save_poses, load_poses, IKError,
                    "root", ("root", "rotations", "clip")),
    "sequences": Format(functools.partial(sequences, 1, 1.0), save_sequences,
                        load_sequences, IKError, "root", ("root", "rotations", "contacts")),
    "cycle": Format(functools.partial(reference, periodic=True), save_reference,
                    load_reference, MotionFileError, "qpos_0", ("qpos_0", "qvel_0")),
    "clips": Format(functools.partial(reference, periodic=False), save_reference,
                    load_reference, MotionFileError, "qpos_1", ("qpos_0", "qvel_0")),
    "raw": Format(raw_shard, write_raw, read_raw, GaitDataError, "motions",
                  ("lengths", "params", "motions")),
    "refined": Format(refined_shard, write_refined, read_refined, GaitDataError, "motions",
                      ("params", "fps", "motions")),
    "head": Format(refined_shard, write_refined, read_head, GaitDataError, "motions",
                   ("params", "fps", "motions")),
}  # fmt: skip


@functools.cache
def data_of(kind: str, folder: Path) -> bytes:
    """A whole file of a kind."""
    path = folder / f"{kind}.npz"
    FORMATS[kind].write(path, FORMATS[kind].make())
    return path.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("npz")


def refused(path: Path, form: Format) -> str:
    """The line that tells that a file is damaged."""
    with pytest.raises(form.error) as caught:
        form.read(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize("kind", [kind for kind in FORMATS if kind != "head"])
def test_what_is_written_is_read_and_written_alike(kind: str, tmp_path: Path) -> None:
    form, path = FORMATS[kind], tmp_path / "a.npz"
    given = form.make()
    form.write(path, given)
    again = form.read(path)
    assert_same_bits(given, again)
    first = path.read_bytes()
    form.write(path, again)
    assert path.read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("code in a file was run",))


Arrays = dict[str, np.ndarray]
DAMAGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "type": lambda a: np.full(a.shape, "a"),
    "shape": lambda a: a[..., :-1],
    "not finite": lambda a: np.where(
        np.arange(a.size).reshape(a.shape) == 7, np.nan, a
    ),
    "pickle": lambda a: np.array([Evil()], dtype=object),
}


IGNORED = {(kind, "more") for kind in ("raw", "refined", "head")}
"""Arrays of other names are passed over in shards."""
LATER = {("cycle", "shape"), ("clips", "shape")}
"""Columns of references are compared with the body that is to follow them."""


@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        case
        for case in product(FORMATS, [*DAMAGES, "lost", "more", "compressed"])
        if case not in IGNORED | LATER
    ],
)
def test_damaged_arrays_are_named(
    kind: str, damage: str, folder: Path, tmp_path: Path
) -> None:
    form, path = FORMATS[kind], tmp_path / "bad.npz"
    arrays: Arrays = dict(np.load(io.BytesIO(data_of(kind, folder))))
    name, save = form.array, np.savez
    if damage in DAMAGES:
        value = DAMAGES[damage](arrays[name])
        arrays[name] = (
            value.astype(arrays[name].dtype) if value.dtype == float else value
        )
    elif damage == "lost":
        del arrays[name]
    elif damage == "more":
        name = "extra"
        arrays[name] = np.zeros(3)
    else:
        save = np.savez_compressed
    save(path, **arrays)
    message = refused(path, form)
    if damage not in {"compressed", "pickle"}:
        assert name in message
    if damage == "not finite":
        assert "finite" in message


@settings(max_examples=20)
@given(at=st.integers(0, 10**9), bit=st.integers(0, 7), cut=st.booleans())
@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_bytes_are_refused_or_do_not_matter(
    kind: str, at: int, bit: int, cut: bool, folder: Path
) -> None:
    form, path = FORMATS[kind], folder / "bad.npz"
    data = bytearray(data_of(kind, folder))
    at %= len(data)
    if cut:
        path.write_bytes(data[:at])
        refused(path, form)
        return
    data[at] ^= 1 << bit
    path.write_bytes(data)
    message = ""
    try:
        form.read(path)
    except form.error as error:
        message = str(error)
    assert not message or str(path) in message
    assert "\n" not in message


@pytest.mark.parametrize("kind", FORMATS)
def test_files_that_are_not_there_or_empty(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "none.npz"
    refused(path, FORMATS[kind])
    path.write_bytes(b"")
    refused(path, FORMATS[kind])


@pytest.mark.parametrize("kind", FORMATS)
def test_packed_zeros_are_not_unpacked(kind: str, tmp_path: Path) -> None:
    path, form = tmp_path / "bomb.npz", FORMATS[kind]
    np.savez_compressed(path, **{name: np.zeros(2_000_000) for name in form.unpacked})
    assert path.stat().st_size < 400_000
    refused_in_little_memory(path, form)


@pytest.mark.parametrize("kind", FORMATS)
def test_members_that_share_their_bytes_are_not_read(kind: str, tmp_path: Path) -> None:
    path, form = tmp_path / "shared.npz", FORMATS[kind]
    path.write_bytes(overlapping(form.unpacked, np.zeros(1_000_000)))
    assert path.stat().st_size < 8_100_000
    refused_in_little_memory(path, form, most=2 * 8_100_000)


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


def refused_in_little_memory(path: Path, form: Format, most: int = 4_000_000) -> None:
    tracemalloc.start()
    try:
        refused(path, form)
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()
