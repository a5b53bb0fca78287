"""Priors of captured motion: what a body's past adds to observation and reward."""

from __future__ import annotations

import pickle
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import ambulo
from ambulo.configs.errors import ConfigError
from ambulo.configs.presets import VR_PRESETS
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_bank, make_batch, make_world
from ambulo.envs.vr.task.observation import observation_layout
from ambulo.motion.human23 import velocities

PRIORS: dict[str, dict[str, Any]] = {
    "observations": {"motion": "motion_nn"},
    "rewards": {"posture_bonus": 2.0, "novelty_cost": 0.3},
}
BODIES = ("twin", "human23", "capsule")


def config_of(body: str, *groups: str) -> NavigationConfig:
    config = VR_PRESETS.load("embodied_quick").override(
        "environment", body=body, levels=("open", "pillars"), levels_per_family=2
    )
    for group in groups:
        config = config.override(group, **PRIORS[group])
    return config


@lru_cache(maxsize=1)
def bank() -> Any:
    return make_bank(config_of("twin"), "train", 0)


def batch_of(count: int, config: NavigationConfig) -> NavigationBatch:
    return make_batch(config, count, seed=3, bank=bank())


def sticks(count: int, step: int) -> np.ndarray:
    """The same for the first environments of any number."""
    rows = [np.random.default_rng([step, i]).normal(size=3) for i in range(count)]
    return np.clip(rows, -1.0, 1.0)


def played(batch: NavigationBatch, steps: int, first: int = 0) -> list[Any]:
    """Copies of observations, rewards and infos; finished episodes begin anew."""
    out = []
    for step in range(first, first + steps):
        obs, reward, ended, cut, info = batch.step(sticks(batch.num_envs, step))
        out.append(
            (obs.copy(), reward.copy(), {k: np.copy(v) for k, v in info.items()})
        )
        done = np.flatnonzero(ended | cut)
        if len(done):
            batch.reset(done)
    return out


def begun(count: int, config: NavigationConfig) -> NavigationBatch:
    batch = batch_of(count, config)
    batch.reset(np.arange(count))
    return batch


def test_off_by_default_and_last_in_the_layout() -> None:
    plain, seeing = config_of("twin"), config_of("twin", "observations")
    assert plain.observations.motion == "none"
    assert not plain.needs_poses
    assert not NavigationConfig().needs_poses
    before, after = (observation_layout(c) for c in (plain, seeing))
    assert after.schema()[:-1] == before.schema()
    row = after.schema()[-1]
    assert (row["name"], row["stop"] - row["start"]) == ("motion", 256)
    assert not [name for name in begun(1, plain).state_dict() if "priors" in name]


@pytest.mark.parametrize("body", BODIES)
def test_what_was_there_stays_bit_for_bit(body: str) -> None:
    plain = begun(3, config_of(body))
    seeing = begun(3, config_of(body, "observations"))
    size = plain.layout.size
    for mine, theirs in zip(played(plain, 8), played(seeing, 8), strict=True):
        np.testing.assert_array_equal(mine[0], theirs[0][:, :size])
        np.testing.assert_array_equal(mine[1], theirs[1])
    assert np.ptp(seeing.obs[:, size:], axis=0).max() > 0.1


@pytest.mark.integration
@pytest.mark.parametrize("body", BODIES)
def test_the_same_bits_for_any_number_of_environments(body: str) -> None:
    config = config_of(body, "observations", "rewards")
    few, many = begun(2, config), begun(19, config)
    for mine, theirs in zip(played(few, 6), played(many, 6), strict=True):
        np.testing.assert_array_equal(mine[0], theirs[0][:2])
        np.testing.assert_array_equal(mine[1], theirs[1][:2])


@pytest.mark.integration
@pytest.mark.parametrize("body", BODIES)
def test_states_are_restored_exactly(body: str) -> None:
    config = config_of(body, "observations", "rewards")
    batch, other = begun(2, config), begun(2, config)
    played(batch, 5)
    played(other, 2, first=40)
    saved = batch.state_dict()
    rngs = pickle.loads(pickle.dumps(batch.rngs))
    expected = played(batch, 5, first=5)
    other.load_state_dict(saved)
    other.rngs[:] = rngs
    for mine, theirs in zip(expected, played(other, 5, first=5), strict=True):
        np.testing.assert_array_equal(mine[0], theirs[0])
        np.testing.assert_array_equal(mine[1], theirs[1])


@pytest.mark.integration
def test_a_batch_can_be_pickled() -> None:
    batch = begun(2, config_of("twin", "observations", "rewards"))
    played(batch, 2)
    copy = pickle.loads(pickle.dumps(batch))
    for mine, theirs in zip(played(batch, 3), played(copy, 3), strict=True):
        np.testing.assert_array_equal(mine[0], theirs[0])


def test_features_are_what_the_network_makes_of_the_last_poses() -> None:
    """Of poses that are put together here from the simulation, step by step."""
    batch = begun(2, config_of("human23", "observations"))
    network = ambulo.load("motion_nn")
    world: Any = batch.world
    columns = world.batch.character.position_columns
    path = [columns.positions(world.qpos)[:, None]]
    for step in range(4):
        batch.step(sticks(2, step))
        path.append(columns.positions(world.poses))
    poses = np.concatenate(path, axis=1)
    rates = velocities(poses, 30.0)
    states = np.concatenate([poses, rates], axis=-1)[:, -10:].astype(np.float32)
    import torch

    expected = network.encode(torch.as_tensor(states)).numpy()
    found = batch.obs[:, batch.layout.slices()["motion"]]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_standing_start_is_encoded_as_standing() -> None:
    batch = begun(2, config_of("capsule", "observations"))
    first = batch.obs[:, batch.layout.slices()["motion"]].copy()
    np.testing.assert_allclose(
        first[0], first[1], atol=1e-4
    )  # place and heading differ
    batch.step(np.tile([0.0, 1.0, 0.0], (2, 1)))
    assert np.abs(batch.obs[:, batch.layout.slices()["motion"]] - first).max() > 0.05


@pytest.mark.parametrize("body", BODIES)
def test_terms_lie_between_nothing_and_their_weight(body: str) -> None:
    batch = begun(3, config_of(body, "rewards"))
    assert batch.layout.size == observation_layout(config_of(body)).size
    goal = batch.layout.slices()["goal_direction"]
    paid, costs = [], []
    for _ in range(12):
        best = batch.episode.best.copy()
        ahead, left, _ = batch.obs[:, goal].T
        info = batch.step(np.column_stack([-left, ahead, -left]))[-1]
        lowered = np.maximum(best - info["distance"], 0.0)
        assert (info["reward/posture"] >= 0.0).all()
        assert (info["reward/posture"] <= 2.0 * lowered + 1e-12).all()
        assert (info["reward/novelty"] <= 0.0).all()
        assert (info["reward/novelty"] > -0.3).all()
        paid.append(info["reward/posture"])
        costs.append(info["reward/novelty"])
    assert np.max(paid) > 0.0
    assert np.min(costs) < -0.005


def test_bodies_that_turn_about_are_newer_than_bodies_that_go_on() -> None:
    batch = begun(4, config_of("capsule", "rewards"))
    priors = batch._priors
    assert priors is not None
    ahead, about = [], []
    for _ in range(15):
        batch.step(np.tile([0.0, 0.5, 0.0], (4, 1)))
        ahead.append(priors.novelty.copy())
    for step in range(15):
        batch.step(np.tile([1.0 - 2.0 * (step % 2), 0.0, 0.0], (4, 1)))
        about.append(priors.novelty.copy())
    assert np.mean(about[5:]) > 1.3 * np.mean(ahead[5:])


def test_another_body_may_come_in() -> None:
    """As in a curriculum whose last stage is the simulated body."""
    config = config_of("twin", "observations", "rewards")
    batch = begun(2, config)
    played(batch, 2)
    body = config.override("environment", body="human23")
    batch.enter(make_world(body, 2))
    batch.world.set_levels(range(len(batch.bank)), batch.bank.levels)
    batch.reset(np.arange(2))
    fresh = begun(2, body)
    columns = batch.layout.slices()["motion"]
    played(batch, 3)
    played(fresh, 3)
    assert np.isfinite(batch.obs).all()
    # Both walk the same gait, from other phases: closer than the avatar's standing start.
    spread = np.abs(batch.obs[:, columns] - fresh.obs[:, columns]).mean()
    assert spread < 0.5


def test_an_unknown_network_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"observations\.motion"):
        NavigationConfig().override("observations", motion="walk_nn")


def test_too_long_environment_steps_are_refused() -> None:
    config = config_of("capsule", "observations").override(
        "environment", ticks_per_decision=60
    )
    with pytest.raises(
        ConfigError, match="looks 1 s ahead, an environment step takes 2"
    ):
        batch_of(1, config)
