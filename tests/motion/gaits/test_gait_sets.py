"""Streams of gait: the split by content, and buffers that lose and repeat nothing."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import GaitDataError
from ambulo.configs.gait import gait_space
from ambulo.configs.gait_net import GaitNetDataConfig
from ambulo.motion.gaits import gait_sets as module
from ambulo.motion.gaits.gait_sets import PARTS, GaitStream, load_part, open_data
from ambulo.motion.gaits.refining import RefinedWriter, Sequence
from ambulo.motion.gaits.shards import (
    RefinedShard,
    find_shards,
    read_head,
    read_refined,
    write_refined,
)

CONFIG = GaitNetDataConfig(validation=0.2, test=0.2)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 5)


def rows_of(held: np.ndarray) -> list[bytes]:
    return [row.tobytes() for row in held]


def test_no_parameters_are_in_two_parts(data: Path) -> None:
    found = open_data([str(data)], CONFIG, 0, None)
    assert sum(found.count(part) for part in PARTS) == 40
    seen: dict[bytes, str] = {}
    for part in PARTS:
        held = load_part(found, part)
        assert len(held) == found.count(part) > 0
        for row in rows_of(held.params):
            assert seen.setdefault(row, part) == part
    # Pairs with the same parameters stay together.
    assert all(found.count(part) % 2 == 0 for part in PARTS)


def test_captured_clips_stay_whole(tmp_path: Path) -> None:
    space = gait_space("human23")
    values = space.sample(np.random.default_rng(0), 40)
    writer = RefinedWriter(tmp_path, space, "captured", {})
    frames = np.zeros((60, 101))
    writer.add(
        Sequence(row, frames, 27.0, f"clip {k // 4} {foot} 0.{k % 4} s", "person")
        for k, (row, foot) in enumerate(
            zip(values, ["left", "right"] * 20, strict=True)
        )
    )
    writer.close()
    found = open_data([str(tmp_path)], CONFIG, 0, None)
    assert (found.parts[0].reshape(10, 4) == found.parts[0].reshape(10, 4)[:, :1]).all()
    assert len(set(found.parts[0].tolist())) == 3


def test_parameters_out_of_range_are_named(data: Path) -> None:
    file = find_shards(data)[0]
    shard = read_refined(file)
    shard.params[3, 0] = 7.0
    write_refined(file, shard)
    found = open_data([str(data)], CONFIG, 0, None)
    assert [str(error) for error in found.errors] == [
        f"{file}: stride = 7: must be in [0.75, 1.25]"
    ]
    strict = CONFIG.replace(strict=True)
    with pytest.raises(GaitDataError, match="stride = 7"):
        open_data([str(data)], strict, 0, None)


def test_labels_and_rates_are_checked_without_motions(tmp_path: Path) -> None:
    space = gait_space("human23")
    shard = RefinedShard(
        params=np.tile(space.default, (2, 1)),
        motions=np.zeros((2, 60, 101), np.float32),
        names=space.names,
        fps=np.array([27.0, 27.0]),
        subject=np.array(["a", "b"]),
        clip=np.array(["a", "b"]),
        origin=np.array(["rollout", "rollout"]),
    )
    file = tmp_path / "a.npz"
    for name, value in (
        ("subject", np.array(["a"])), ("fps", np.array([27.0, np.nan])),
        ("fps", np.array([27.0, 0.0])),
    ):  # fmt: skip
        bad = copy.copy(shard)
        object.__setattr__(bad, name, value)
        write_refined(file, bad)
        with pytest.raises(GaitDataError, match=rf"a\.npz: {name}: e"):
            read_head(file)


def test_parameters_that_never_vary_are_known(tmp_path: Path) -> None:
    space = gait_space("human23")
    rng = np.random.default_rng(0)
    values = space.sample(rng, 8)
    values[:, 2] = 0.95
    writer = RefinedWriter(tmp_path, space, "rollout", {})
    frames = np.zeros((60, 101))
    writer.add(Sequence(row, frames, 27.0, "clip", "person") for row in values)
    writer.close()
    config = GaitNetDataConfig(validation=0.0, test=0.2)
    found = open_data([str(tmp_path)], config, 0, None)
    assert found.held() == {"global": 0.95}


def test_the_split_hangs_on_content_not_on_files(data: Path, tmp_path: Path) -> None:
    first = open_data([str(data)], CONFIG, 0, None)
    paths = [str(path) for path in find_shards(data)]
    again = open_data(paths[::-1], CONFIG, 0, None)
    for part in PARTS:
        one, other = load_part(first, part), load_part(again, part)
        assert sorted(rows_of(one.params)) == sorted(rows_of(other.params))
    moved = open_data([str(data)], CONFIG, 1, None)
    assert sorted(rows_of(load_part(moved, "test").params)) != sorted(
        rows_of(load_part(first, "test").params)
    )


def test_people_can_be_kept_back(data: Path) -> None:
    config = GaitNetDataConfig(
        split="subject", test_subjects=("person 1",), validation_subjects=("person 3",)
    )
    found = open_data([str(data)], config, 0, None)
    assert found.table("test") == {"person 1": 8}
    assert found.table("validation") == {"person 3": 8}
    assert "person 1" not in found.table("train")
    bad = GaitNetDataConfig(split="subject", test_subjects=("person 9",))
    with pytest.raises(GaitDataError, match="no subject 'person 9'"):
        open_data([str(data)], bad, 0, None)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("mirror", [False, True])
def test_an_epoch_holds_everything_once(data: Path, mirror: bool) -> None:
    config = CONFIG.replace(buffer_rows=600, mirror=mirror)
    found = open_data([str(data)], config, 0, None)
    whole = load_part(found, "train")
    with GaitStream(found, config, 3) as stream:
        for epoch in range(2):
            motions: list[bytes] = []
            groups = stream.plan(epoch)
            assert len(groups) > 1
            for number in range(len(groups)):
                held = stream.buffer(epoch, number)
                assert stream.rows(epoch)[number] == 60 * len(held) <= 600
                motions += rows_of(held.motions)
            plain = rows_of(whole.motions)
            if mirror:
                assert len(motions) == 2 * len(plain)
                assert set(plain) <= set(motions)
            else:
                assert sorted(motions) == sorted(plain)
        assert stream.plan(0) != stream.plan(1)
        # Two buffers of 10 sequences: frames and 13 parameters.
        assert stream.bound_bytes == 2 * 10 * 4 * (60 * 101 + 13)


@pytest.mark.usefixtures("small_blocks")
def test_the_stream_is_the_same_from_anywhere(data: Path) -> None:
    config = CONFIG.replace(buffer_rows=600)
    found = open_data([str(data)], config, 0, None)
    with GaitStream(found, config, 3) as stream:
        told = [stream.buffer(0, k).params.copy() for k in range(len(stream.plan(0)))]
        later = stream.buffer(1, 0).params.copy()
    with GaitStream(found, config, 3) as again:
        assert (again.buffer(0, 2).params == told[2]).all()
        assert (again.buffer(1, 0).params == later).all()


def test_parameters_and_motions_stay_together(data: Path) -> None:
    found = open_data([str(data)], CONFIG, 0, None)
    with GaitStream(found, CONFIG, 0) as stream:
        held = stream.buffer(0, 0)
    space = gait_space("human23")
    values = space.denormalize(held.params)
    speeds = held.motions[:, :, 6].mean(axis=1) * 30.0
    np.testing.assert_allclose(speeds, 1.2 * values[:, 0] * values[:, 1], rtol=1e-5)
    np.testing.assert_allclose(held.motions[:, 5, 8], 0.9 * values[:, 2], rtol=1e-5)


def test_other_parameters_are_told_apart(data: Path) -> None:
    with pytest.raises(GaitDataError, match="none of 4 files is usable"):
        open_data([str(data)], CONFIG, 0, gait_space("myolegs"))
    strict = CONFIG.replace(strict=True)
    with pytest.raises(GaitDataError, match="it lacks length_iliopsoas_left"):
        open_data([str(data)], strict, 0, gait_space("myolegs"))


def test_an_empty_part_is_refused(data: Path) -> None:
    config = GaitNetDataConfig(validation=1e-9, test=0.0)
    with pytest.raises(GaitDataError, match="no sequence is left for the validation"):
        open_data([str(data)], config, 0, None)


def test_a_buffer_below_a_block_is_refused(data: Path) -> None:
    config = CONFIG.replace(buffer_rows=600)
    found = open_data([str(data)], config, 0, None)
    with pytest.raises(GaitDataError, match="buffer_rows = 600: at least 15360"):
        GaitStream(found, config, 0)


def test_a_file_that_shrinks_while_learning_is_named(data: Path) -> None:
    found = open_data([str(data)], CONFIG, 0, None)
    path = find_shards(data)[0]
    size = read_refined(path).motions.nbytes
    path.write_bytes(path.read_bytes()[: size // 2])
    with (
        GaitStream(found, CONFIG, 0) as stream,
        pytest.raises(GaitDataError, match=path.name),
    ):
        stream.buffer(0, 0)
