"""How snap turns, teleports, the vignette and the height of the eyes are felt and seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.comfort import (
    PARTS,
    SEEN,
    VIGNETTE_RELIEF,
    discomforts,
    head_motion,
)
from tests.envs.vr.task.test_comfort_dial import NUM_ENVS
from tests.envs.vr.task.test_comfort_dial import batch_of as made


def batch_of(**groups: dict[str, Any]) -> NavigationBatch:
    batch = made(**groups)
    batch.reset(np.arange(NUM_ENVS))
    return batch


def costs_of(
    batch: NavigationBatch, action: list[float], steps: int = 12
) -> np.ndarray:
    """1 - the comfort index in each step, shape (steps,), of the first env."""
    sums = [0.0]
    for _ in range(steps):
        batch.step(np.tile(action, (NUM_ENVS, 1)))
        sums.append(float(batch.episode.comfort_index[0]))
    return 1.0 - np.diff(sums)


def test_a_teleport_is_not_seen_as_motion() -> None:
    batch = batch_of(actions={"teleport": 3.0}, rewards={"smooth_movement": 1.0})
    speeds = []
    for _ in range(12):
        _, _, _, _, info = batch.step(np.tile([0.0, -1.0, 0.0], (NUM_ENVS, 1)))
        speeds.append(np.abs(batch.world.state.velocity[0, :2]).max())
        assert (info["comfort"] == 1.0).all()
    assert batch.episode.path[0] > 1.0
    assert max(speeds) > 5.0  # it is observed, as a discrete move is
    np.testing.assert_array_equal(batch.episode.comfort_index, 12.0)
    walked = costs_of(batch_of(), [0.0, -1.0, 0.0])
    assert walked.max() > 0.1


def test_snaps_do_not_turn_the_head() -> None:
    snaps = costs_of(batch_of(actions={"snap_turn": 30.0}), [0.0, 0.0, 1.0])
    np.testing.assert_allclose(snaps, 0.0, atol=1e-12)
    assert costs_of(batch_of(), [0.0, 0.0, 1.0]).max() > 0.15


@pytest.mark.parametrize("vignette", [0.3, 1.0])
def test_a_vignette_takes_its_fraction_of_what_is_seen(vignette: float) -> None:
    action = [0.3, -0.8, 0.4]
    plain = costs_of(batch_of(), action)
    narrow = costs_of(batch_of(actions={"vignette": vignette}), action)
    np.testing.assert_allclose(narrow, plain * (1.0 - VIGNETTE_RELIEF * vignette))


def test_a_vignette_leaves_the_bob_of_the_head() -> None:
    one, flat = np.ones(1), np.ones((1, 2))
    motion = head_motion(3 * flat, 5 * flat, 50 * flat, one, one, 3 * one, 0.2 * one)
    wide, narrow = discomforts(motion), discomforts(motion, 1.0)
    assert set(PARTS) - set(SEEN) == {"head_bob"}
    for name in PARTS:
        share = 1.0 - VIGNETTE_RELIEF if name in SEEN else 1.0
        np.testing.assert_allclose(narrow[name], share * wide[name])


def test_eyes_and_hands_are_observed_where_they_are() -> None:
    batch = batch_of(environment={"eye_height": 1.2, "tasks": ("reach",)})
    where = batch.layout.slices()
    seen = {name: batch.obs[0, part] for name, part in where.items()}
    assert seen["camera_position"][2] == pytest.approx(1.2)
    hand = np.array([0.35, 0.22, 1.1]) * 0.75
    np.testing.assert_allclose(seen["left_controller_position"], hand, rtol=1e-6)
    assert seen["goal_position"][2] == pytest.approx(hand[2])  # in reach
