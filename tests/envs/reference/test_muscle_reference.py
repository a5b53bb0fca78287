"""References of myolegs: standing, the cache of walks, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ambulo.shipped
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference import configured
from ambulo.envs.reference.configured import configured_character, reference_of
from ambulo.envs.reference.reference import Reference

LEGS = LocomotionEnvironmentConfig(character="myolegs", actuation="muscle")


def falls(batch: Any) -> bool:
    """Whether one of the bodies falls within three seconds without a policy."""
    batch.reset(np.arange(4))
    still = np.zeros((4, batch.action_size))
    return any(batch.step(still)[2].any() for _ in range(90))


@pytest.fixture(scope="module")
def standing() -> Reference:
    config = LEGS.replace(task="stand")
    return reference_of(config, configured_character(config))


@pytest.mark.integration
def test_standing_needs_small_torques(standing: Reference) -> None:
    assert standing.character == "myolegs"
    assert standing.table.speed == 0.0
    assert 0.9 < standing.table.qpos[0, 2] < 1.0
    assert np.abs(standing.table.torque).max() < 60.0
    assert not standing.table.torque[:, :6].any()


@pytest.mark.integration
def test_muscles_stand_by_the_law(standing: Reference) -> None:
    config = LocomotionConfig(environment=LEGS.replace(task="stand"))
    batch = make_batch(config, 4, seed=0, reference=standing)
    assert not falls(batch)
    assert np.abs(batch.state.deviation[:, 2]).max() < 0.03


@pytest.mark.integration
@pytest.mark.parametrize("actuation", ["muscle", "torque"])
def test_what_is_walked_when_no_clip_is_named(
    actuation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = LocomotionConfig(
        environment=LEGS.replace(actuation=actuation, push_impulse=(0.0, 0.0))
    )
    batch = make_batch(config, 4, seed=0)
    assert not falls(batch)
    monkeypatch.setattr(ambulo.shipped, "__path__", [])
    configured._built.cache_clear()
    with pytest.raises(ConfigError, match="is not installed; name one"):
        reference_of(config.environment, batch.character)


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"task": "locomote"}, "no gaits for myolegs yet"),
     ({"control_rate": 60}, "balance controller is for 30 Hz"),
     ({"reference": "walk.bvh"}, "myolegs follows prepared references")],
)  # fmt: skip
def test_what_walks_are_not_made_for(changes: dict[str, object], told: str) -> None:
    config = LEGS.replace(**changes)
    with pytest.raises(ConfigError, match=told):
        make_batch(LocomotionConfig(environment=config), 1)
