"""References of myolegs: standing, the cache of walks, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import ambulo.shipped
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig, LocomotionEnvironmentConfig
from ambulo.envs.characters.myo import myolegs
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference.muscle_reference import (
    legs_reference,
    shipped_walk,
    standing_legs,
)
from ambulo.envs.reference.muscle_walk import between
from ambulo.envs.reference.reference import Reference
from ambulo.envs.reference.reference_table import ReferenceTable

LEGS = LocomotionEnvironmentConfig(character="myolegs", actuation="muscle")


@pytest.fixture(scope="module")
def standing() -> Reference:
    return standing_legs(myolegs(muscles=False), LEGS, "myolegs")


@pytest.mark.integration
def test_standing_obeys_the_equations_of_motion(standing: Reference) -> None:
    assert standing.report["residual_force"] < 1.0
    assert standing.report["residual_moment"] < 0.2
    assert standing.table.speed == 0.0
    assert 0.9 < standing.table.qpos[0, 2] < 1.0
    assert np.abs(standing.table.torque).max() < 60.0


@pytest.mark.integration
def test_muscles_stand_by_the_law(standing: Reference) -> None:
    config = LocomotionConfig(environment=LEGS.replace(task="stand"))
    batch = make_batch(config, 4, seed=0, reference=standing)
    batch.reset(np.arange(4))
    still = np.zeros((4, batch.action_size))
    ended = np.zeros(4, dtype=np.bool_)
    for _ in range(90):
        _, _, terminated, _, _ = batch.step(still)
        ended |= terminated
    assert not ended.any()
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
    batch.reset(np.arange(4))
    still = np.zeros((4, batch.action_size))
    ended = np.zeros(4, dtype=np.bool_)
    for _ in range(90):
        _, _, terminated, _, _ = batch.step(still)
        ended |= terminated
    assert not ended.any()
    monkeypatch.setattr(ambulo.shipped, "__path__", [])
    with pytest.raises(ConfigError, match="not installed; name a clip"):
        shipped_walk()


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"task": "locomote"}, "no gaits for myolegs yet"),
     ({"control_rate": 60}, "control_rate = 30 and substeps = 8, not 60 and 8")],
)  # fmt: skip
def test_what_walks_are_not_made_for(changes: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        legs_reference(LEGS.replace(**changes))


def test_between_two_references() -> None:
    body = myolegs(muscles=False)
    qpos = np.tile(body.model.qpos0, (4, 1))
    hip = int(body.model.joint("hip_flexion_r").qposadr[0])
    zero = np.zeros((4, body.model.nv))
    one = ReferenceTable(1.0, np.zeros(3), qpos, zero, zero)
    bent = qpos.copy()
    bent[:, hip] += 0.5
    two = ReferenceTable(1.0, np.array([1.0, 0.0, 0.0]), bent, zero, zero + 10.0)
    found = between(body, one, two, 0.6)
    np.testing.assert_allclose(found.qpos[:, hip] - qpos[:, hip], 0.3)
    np.testing.assert_allclose(found.torque, 6.0)
    np.testing.assert_allclose(found.stride, [0.6, 0.0, 0.0])
