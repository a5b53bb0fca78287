"""The comfort dial: drawn, observed, and what it scales."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import NavigationConfig
from ambulo.configs.vr_rewards import NavigationRewardsConfig
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.observation import observation_layout
from ambulo.envs.vr.world.actions import motion_of

LIMITS = WorldSpec(
    max_acceleration=1.5, max_yaw_acceleration=3.0, facing=0.7, comfort_speed=0.8
)
NUM_ENVS = 6


def batch_of(**groups: dict[str, Any]) -> NavigationBatch:
    config = NavigationConfig().override(
        "environment", levels=("open",), levels_per_family=2
    )
    for group, values in groups.items():
        config = config.override(group, **values)
    return make_batch(config, NUM_ENVS, seed=3)


def test_the_layout_grows_by_one_number_before_the_memory() -> None:
    plain = NavigationConfig().override("observations", memory="visits")
    dial = plain.override("observations", comfort=True)
    before = [part.name for part in observation_layout(plain).parts]
    after = [part.name for part in observation_layout(dial).parts]
    assert [name for name in after if name != "comfort"] == before
    assert after.index("comfort") == after.index("goal_direction") + 1
    assert observation_layout(dial).size == observation_layout(plain).size + 1


def test_each_episode_draws_its_dial_and_sees_it() -> None:
    drawn = {"comfort": True}
    batch = batch_of(observations=drawn, environment={"comfort_range": (0.2, 0.6)})
    where = batch.layout.slices()["comfort"]
    assert batch.comfort is not None
    first = batch.reset(np.arange(NUM_ENVS))[:, where].copy()
    np.testing.assert_array_equal(first[:, 0], batch.comfort.astype(np.float32))
    assert len(np.unique(first)) == NUM_ENVS
    assert ((first >= 0.2) & (first <= 0.6)).all()
    second = batch.reset(np.array([1, 4]))[:, where]
    assert np.flatnonzero(second[:, 0] != first[:, 0]).tolist() == [1, 4]


def test_without_the_dial_nothing_is_drawn() -> None:
    plain, fixed = (
        batch_of(observations={"comfort": dial}, environment={"comfort_range": (1, 1)})
        for dial in (False, True)
    )
    for batch in (plain, fixed):
        batch.reset(np.arange(NUM_ENVS))
    assert plain.comfort is None
    assert "dial.comfort" not in plain.state_dict()
    for mine, other in zip(plain.rngs, fixed.rngs, strict=True):
        assert mine.bit_generator.state == other.bit_generator.state


def test_the_dial_scales_every_limit() -> None:
    rng = np.random.default_rng(0)
    action, command = rng.uniform(-1.5, 1.5, (2, 500, 3))
    command *= 0.3
    at = {
        c: motion_of(action, LIMITS, command, np.full(500, c)).target
        for c in (0.0, 0.5, 1.0)
    }
    free = motion_of(action, WorldSpec(), command).target
    np.testing.assert_allclose(at[0.0], free, atol=1e-12)
    np.testing.assert_array_equal(at[1.0], motion_of(action, LIMITS, command).target)
    half = WorldSpec(
        max_acceleration=3.0,
        max_yaw_acceleration=6.0,
        facing=0.5 * (0.7 + math.pi),
        comfort_speed=1.4,
    )
    np.testing.assert_allclose(at[0.5], motion_of(action, half, command).target)


def test_environments_of_a_batch_have_their_own_limits() -> None:
    action = np.tile([0.0, 1.0, 0.0], (3, 1))
    dials = np.array([0.0, 0.5, 1.0])
    target = motion_of(action, LIMITS, np.zeros((3, 3)), dials).target[:, 1]
    assert target[0] == 1.0
    assert target[1] == pytest.approx(2.0 * target[2])


def test_the_dial_is_the_factor_of_the_costs_of_discomfort() -> None:
    costs = {"comfort_cost": 1.0, "discomfort_cost": 1.0}
    totals = []
    for dial in (0.0, 0.5, 1.0):
        batch = batch_of(
            observations={"comfort": True},
            environment={"comfort_range": (dial, dial)},
            rewards=NavigationRewardsConfig(**costs).model_dump(),
        )
        batch.reset(np.arange(NUM_ENVS))
        for _ in range(5):
            *_, info = batch.step(np.tile([0.0, 1.0, 1.0], (NUM_ENVS, 1)))
        totals.append(
            [info[f"reward/{name}"].sum() for name in ("discomfort", "uncomfortable")]
        )
    zero, half, full = np.array(totals)
    assert (zero == 0.0).all()
    assert (full < 0.0).all()
    np.testing.assert_allclose(half, 0.5 * full)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"comfort_speed": 1.0}, "comfort_speed = 1 needs observations.comfort"),
        (
            {"comfort": True, "comfort_speed": 3.0},
            "comfort_speed = 3 must not be above",
        ),
        ({"comfort": True, "mode": "discrete"}, "needs actions.mode = continuous"),
        ({"comfort_range": (0.6, 0.5)}, "comfort_range must be"),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        gymnasium.make("ambulo/VRNavigation-v0", **settings)
