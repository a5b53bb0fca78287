"""Mirrored observations and actions are those of the mirrored body, to the last bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fixtures.own_bodies import humanoid_xml, without
from fixtures.swaying import swaying

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.own.prepare import prepare_body
from ambulo.envs.characters.own.record import character_of
from ambulo.envs.locomotion.mirroring import (
    mirror_of_actions,
    mirror_of_dofs,
    mirror_of_observations,
)
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.tangent import Tangent
from ambulo.envs.tasks.track import TrackBatch


@pytest.fixture(scope="module")
def walker() -> Character:
    return character_of(prepare_body(humanoid_xml()))


@pytest.mark.parametrize("body", ["character", "walker"])
def test_a_mirrored_body_under_mirrored_actions_stays_mirrored(
    body: str, request: pytest.FixtureRequest
) -> None:
    character: Character = request.getfixturevalue(body)
    model, whole = character.model, mirror_of_dofs(character)
    rest = model.qpos0.copy()
    rest[:3] = 0.0

    def mirrored(qpos: Floats) -> Floats:
        origin = np.tile(rest, (len(qpos), 1))
        moved = Tangent(model).difference(qpos, origin)
        return Tangent(model).moved(origin, np.asarray(whole(moved), np.float64))

    gait = swaying(character, "left")
    table = replace(
        gait.table,
        qpos=mirrored(gait.table.qpos),
        qvel=np.asarray(whole(gait.table.qvel), np.float64),
    )
    other = replace(gait, name="right", table=table)
    reference = Reference("clips", character.name, 1.0 / 30.0, (gait, other))
    config = LocomotionConfig().override(
        "environment", task="track", start_position_noise=0.0, start_velocity_noise=0.0
    )
    config = config.override("observations", last_action=True)
    batch = TrackBatch(config, reference, character, num_envs=2)
    batch.choose(np.arange(2), np.arange(2), np.array([3, 3]))
    batch.reset(np.arange(2))
    seen = mirror_of_observations(batch.layout, character, batch.dofs)
    moved = mirror_of_actions(character, batch.dofs)
    rng = np.random.default_rng(0)
    for _ in range(10):
        action = rng.normal(0.0, 0.1, batch.action_size).astype(np.float32)
        batch.step(np.stack([action, moved(action)]))
        np.testing.assert_allclose(seen(batch.obs[0]), batch.obs[1], atol=2e-4)
        assert np.abs(batch.obs[0] - batch.obs[1]).max() > 0.01


def test_twice_mirrored_is_as_before(character: Character) -> None:
    whole = mirror_of_dofs(character)
    values = np.random.default_rng(1).normal(size=(4, len(whole.source)))
    twice = whole(whole(values.astype(np.float32)))
    np.testing.assert_array_equal(twice, values.astype(np.float32))


def test_joints_of_one_side_have_no_mirror(character: Character) -> None:
    with pytest.raises(ConfigError, match="one side only"):
        mirror_of_actions(character, character.dofs("FemurR"))


def test_a_joint_without_a_twin_is_named() -> None:
    stiff = without(humanoid_xml(), '<joint name="left_elbow"[^>]*>')
    stiff = without(stiff, '<motor joint="left_elbow"[^>]*>')
    body = character_of(prepare_body(stiff))
    with pytest.raises(ConfigError, match="no twin on the other side"):
        mirror_of_dofs(body)
