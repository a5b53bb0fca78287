"""Raw and refined shards: exact round trips, and every kind of bad file by name."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import GaitDataError
from ambulo.motion.gaits.shards import (
    RawShard,
    RefinedShard,
    find_shards,
    read_head,
    read_raw,
    read_refined,
    stored_space,
    usable,
    write_raw,
    write_refined,
)

NAMES = ("stride", "cadence")


def raw_shard() -> RawShard:
    rng = np.random.default_rng(1)
    motions = rng.normal(size=(7, 57))
    motions[:, -1] = np.linspace(0.0, 0.9, 7)
    source = {"character": "human23", "rate": 25.0}
    return RawShard(np.array([3, 4]), rng.normal(size=(2, 2)), motions, NAMES, source)


def refined_shard(count: int = 5) -> RefinedShard:
    rng = np.random.default_rng(2)
    return RefinedShard(
        params=rng.normal(size=(count, 2)),
        motions=rng.normal(size=(count, 60, 101)).astype(np.float32),
        names=NAMES,
        fps=np.full(count, 27.5),
        subject=np.array([f"s{k % 2}" for k in range(count)]),
        clip=np.array([f"clip {k}" for k in range(count)]),
        origin=np.array(["captured"] * count),
        source={"note": "é"},
    )


def test_raw_round_trip(tmp_path: Path) -> None:
    shard = raw_shard()
    write_raw(tmp_path / "a.npz", shard)
    found = read_raw(tmp_path / "a.npz")
    for name in ("lengths", "params", "motions"):
        assert (getattr(found, name) == getattr(shard, name)).all()
    assert (found.names, found.source, found.rate) == (NAMES, shard.source, 25.0)
    episodes = list(found.episodes())
    assert [len(frames) for _, frames in episodes] == [3, 4]
    assert (episodes[1][1] == shard.motions[3:]).all()
    assert (episodes[1][0] == shard.params[1]).all()


def test_refined_round_trip_and_parts_of_it(tmp_path: Path) -> None:
    shard = refined_shard()
    write_refined(tmp_path / "a.npz", shard)
    found = read_refined(tmp_path / "a.npz")
    for name in ("params", "motions", "fps", "subject", "clip", "origin"):
        assert (getattr(found, name) == getattr(shard, name)).all()
    assert found.source == {"note": "é"}
    head = read_head(tmp_path / "a.npz")
    assert len(head) == 5
    out = np.empty((2, 60, 101), np.float32)
    head.read(3, out)
    assert (out == shard.motions[3:]).all()
    with pytest.raises(GaitDataError, match="shorter"):
        head.read(50_000, out)


def test_a_file_is_the_same_for_the_same_content(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        write_refined(tmp_path / name, refined_shard())
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-2000])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def compress(path: Path) -> None:
    arrays = dict(np.load(path, allow_pickle=False))
    arrays["motions"] = np.zeros_like(arrays["motions"])
    np.savez_compressed(path, **arrays)


def lose(path: Path) -> None:
    arrays = dict(np.load(path, allow_pickle=False))
    del arrays["fps"]
    np.savez(path, **arrays)


def narrow(path: Path) -> None:
    arrays = dict(np.load(path, allow_pickle=False))
    arrays["motions"] = arrays["motions"][:, :, :90]
    np.savez(path, **arrays)


def nan(path: Path) -> None:
    arrays = dict(np.load(path, allow_pickle=False))
    arrays["motions"][4, 59, 100] = np.nan
    np.savez(path, **arrays)


def doubles(path: Path) -> None:
    arrays = dict(np.load(path, allow_pickle=False))
    arrays["params"] = np.array([["a", "b"]] * 5)
    np.savez(path, **arrays)


DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (cut, "truncated, damaged"),
    (flip, "truncated, damaged|not finite"),
    (empty, "truncated, damaged"),
    (compress, "compressed"),
    (lose, "has no array 'fps'"),
    (narrow, r"motions: expected shape \(5, 60, 101\), got \(5, 60, 90\)"),
    (nan, "motions: a number is not finite"),
    (doubles, "params: is <U1"),
]


@pytest.mark.parametrize(("damage", "told"), DAMAGES)
@pytest.mark.parametrize("read", [read_refined, read_head])
def test_damaged_files_are_named(
    damage: Callable[[Path], None],
    told: str,
    read: Callable[[Path], object],
    tmp_path: Path,
) -> None:
    path = tmp_path / "bad.npz"
    write_refined(path, refined_shard())
    damage(path)
    with pytest.raises(GaitDataError, match=told) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))


def test_pickles_are_never_run(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    arrays = {"lengths": np.array([object()], dtype=object)}
    np.savez(path, **arrays)  # type: ignore[arg-type]
    with pytest.raises(GaitDataError, match=r"bad\.npz"):
        read_raw(path)


def test_wrong_raw_numbers() -> None:
    good = raw_shard()
    bad = good.motions.copy()
    bad[2, -1] = 1.0
    with pytest.raises(GaitDataError, match="phase"):
        RawShard(good.lengths, good.params, bad, NAMES)
    with pytest.raises(GaitDataError, match=r"expected shape \(8, 57\)"):
        RawShard(np.array([4, 4]), good.params, good.motions, NAMES)
    with pytest.raises(GaitDataError, match="one name"):
        RawShard(good.lengths, good.params, good.motions, ("a", "a"))


def test_bad_files_are_counted_or_refused(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write_refined(tmp_path / f"{name}.npz", refined_shard())
    cut(tmp_path / "b.npz")
    paths = find_shards(tmp_path)
    errors: list[GaitDataError] = []
    assert len(list(usable(paths, read_refined, errors))) == 2
    assert [str(error).split(":")[0] for error in errors] == [str(paths[1])]
    with pytest.raises(GaitDataError, match=r"b\.npz"):
        list(usable(paths, read_refined, [], strict=True))


def test_missing_places(tmp_path: Path) -> None:
    with pytest.raises(GaitDataError, match="nowhere"):
        find_shards(tmp_path / "nowhere")
    with pytest.raises(GaitDataError, match="no NPZ files"):
        find_shards(tmp_path)
    with pytest.raises(GaitDataError, match="no such file"):
        read_refined(tmp_path / "gone.npz")


def test_files_open_with_numpy(tmp_path: Path) -> None:
    write_raw(tmp_path / "a.npz", raw_shard())
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert set(arrays) == {"lengths", "params", "motions", "names", "source"}
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert archive.testzip() is None


def test_a_space_that_is_none_names_its_file(tmp_path: Path) -> None:
    told = {"name": "human23", "parameters": [{"name": "stride", "low": 1.0}]}
    with pytest.raises(GaitDataError, match=r"a\.npz: no gait space"):
        stored_space(told, tmp_path / "a.npz")
