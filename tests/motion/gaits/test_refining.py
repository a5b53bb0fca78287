"""Roll-outs made sequences: clocks, cycles, and what is left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import GaitDataError
from ambulo.configs.gait import gait_space
from ambulo.motion.gaits.refining import (
    RefinedWriter,
    Refining,
    moments,
    refined,
    starts,
    unwrapped,
)
from ambulo.motion.gaits.shards import RawShard, read_refined

SPACE = gait_space("human23")


def episode(frames: int, rate: float = 0.9, first: float = 0.3) -> np.ndarray:
    """Walking on at 1.2 m/s at 30 Hz with `rate` cycles a second."""
    time = np.arange(frames) / 30.0
    rows = np.zeros((frames, 57))
    rows[:, 4] = 1.2 * time  # along +Y
    rows[:, 2] = 0.5 * np.pi  # facing there
    rows[:, 5] = 0.95
    rows[:, -1] = (first + rate * time) % 1.0
    return rows


def shard(*rows: np.ndarray) -> RawShard:
    lengths = np.array([len(row) for row in rows])
    params = np.tile(SPACE.default, (len(rows), 1))
    source = {"character": "human23"}
    return RawShard(lengths, params, np.concatenate(rows), SPACE.names, source)


def test_a_clock_goes_on() -> None:
    np.testing.assert_allclose(
        unwrapped(np.array([0.8, 0.95, 0.1, 0.3])), [0.8, 0.95, 1.1, 1.3]
    )


def test_pairs_of_whole_cycles_do_not_overlap() -> None:
    clock = np.linspace(0.3, 5.6, 100)
    assert starts(clock, 1.0) == [2]
    assert starts(clock, 0.5) == [1, 3]
    assert starts(clock[::-1], 0.0) == []
    assert starts(np.array([0.0, 1.0, 0.9, 3.0]), 0.0) == []


def test_moments_between_frames() -> None:
    clock = np.array([0.0, 0.5, 0.5, 1.0, 2.0, 3.5])  # it may wait
    found = moments(clock, 1)
    assert found[0] == 3.0
    assert found[15] == 3.5
    assert found[30] == 4.0
    assert found[60] == pytest.approx(4.0 + 2.0 / 3.0)


def test_sequences_lead_ahead_at_their_speed_and_rate() -> None:
    counts = Refining()
    found = list(refined(shard(episode(150)), "file", counts))
    assert [one.clip for one in found] == ["file:0:1"]
    frames = found[0].frames
    np.testing.assert_allclose(frames[:, 6], 1.2 / 30.0, atol=1e-9)
    np.testing.assert_allclose(frames[:, 7], 0.0, atol=1e-9)
    np.testing.assert_allclose(
        frames[:, :6], np.tile([1, 0, 0, 0, 1, 0], (60, 1)), atol=1e-9
    )
    assert found[0].fps == pytest.approx(27.0)
    assert found[0].subject == "human23"
    assert (counts.episodes, counts.sequences) == (1, 1)


def test_fallen_and_stuck_episodes_are_counted() -> None:
    stuck = episode(150)
    stuck[:, -1] = 0.4
    back = episode(150, rate=-0.9)
    counts = Refining()
    found = list(
        refined(shard(episode(139), episode(140), stuck, back), "file", counts)
    )
    assert [one.clip for one in found] == ["file:1:1"]
    assert (counts.episodes, counts.short, counts.stuck) == (4, 1, 2)


def test_files_are_filled_and_never_overwritten(tmp_path: Path) -> None:
    counts = Refining()
    rows = [episode(150, rate=rate) for rate in (0.7, 0.8, 0.9)]
    writer = RefinedWriter(tmp_path, SPACE, "rollout", {"raw": {}}, per_file=2)
    writer.add(refined(shard(*rows), "file", counts))
    files = writer.close()
    shards = [read_refined(path) for path in files]
    assert [len(one) for one in shards] == [2, 1]
    assert set(shards[0].origin.tolist()) == {"rollout"}
    assert shards[0].source["space"]["name"] == "human23"
    with pytest.raises(GaitDataError, match="there already"):
        RefinedWriter(tmp_path, SPACE, "rollout", {})
