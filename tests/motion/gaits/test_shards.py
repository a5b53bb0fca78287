"""Raw and refined shards: exact round trips, and every kind of bad file by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fixtures.gait_data import NAMES, raw_shard, refined_shard

from ambulo.configs.errors import GaitDataError
from ambulo.motion.gaits.shards import (
    RawShard,
    find_shards,
    read_head,
    read_refined,
    stored_space,
    usable,
    write_refined,
)


def test_episodes_of_a_raw_shard() -> None:
    shard = raw_shard()
    assert shard.rate == 25.0
    episodes = list(shard.episodes())
    assert [len(frames) for _, frames in episodes] == [3, 4]
    assert (episodes[1][1] == shard.motions[3:]).all()
    assert (episodes[1][0] == shard.params[1]).all()


def test_parts_of_a_refined_shard(tmp_path: Path) -> None:
    shard = refined_shard()
    write_refined(tmp_path / "a.npz", shard)
    head = read_head(tmp_path / "a.npz")
    assert len(head) == 5
    out = np.empty((2, 60, 101), np.float32)
    head.read(3, out)
    assert (out == shard.motions[3:]).all()
    with pytest.raises(GaitDataError, match="shorter"):
        head.read(50_000, out)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-2000])


def test_wrong_raw_numbers() -> None:
    good = raw_shard()
    bad = good.motions.copy()
    bad[2, -1] = 1.0
    with pytest.raises(GaitDataError, match="phase"):
        RawShard(good.lengths, good.params, bad, NAMES)
    with pytest.raises(GaitDataError, match=r"expected shape \(8, 57\)"):
        RawShard(np.array([4, 4]), good.params, good.motions, NAMES)
    with pytest.raises(GaitDataError, match="params: a number is not finite"):
        RawShard(good.lengths, good.params * np.nan, good.motions, NAMES)
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


def test_a_space_that_is_none_names_its_file(tmp_path: Path) -> None:
    told = {"name": "human23", "parameters": [{"name": "stride", "low": 1.0}]}
    with pytest.raises(GaitDataError, match=r"a\.npz: no gait space"):
        stored_space(told, tmp_path / "a.npz")
