"""Track body on a walker's legs: arms and head follow the trackers, steps lead the body."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from fixtures.swaying import swaying_reference

from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.reference import Reference
from ambulo.envs.tasks.track_body.batch import track_body
from ambulo.envs.tasks.track_body.walker import WalkingBodyBatch
from ambulo.ik.trackers.layout import LEFT_HAND, RIGHT_HAND, TRACKED

QUIET = {"start_position_noise": 0.0, "start_velocity_noise": 0.0, "start": "first"}


def make(
    character: Character, reference: Reference | None = None, **settings: Any
) -> WalkingBodyBatch:
    config = LocomotionConfig().override(
        "environment", task="track_body", **QUIET, **settings
    )
    clips = swaying_reference(character) if reference is None else reference
    batch = track_body(config, clips, character, num_envs=2)
    assert isinstance(batch, WalkingBodyBatch)
    batch.seed([0, 1])
    batch.choose(np.arange(2), np.zeros(2, np.int64), np.zeros(2, np.int64))
    batch.reset(np.arange(2))
    return batch


def still(batch: WalkingBodyBatch, steps: int) -> None:
    for _ in range(steps):
        batch.step(np.zeros((2, batch.action_size)))


@pytest.mark.integration
def test_a_standing_body_stays_up_and_its_hands_are_where_the_trackers_are(
    character: Character,
) -> None:
    batch = make(character)
    still(batch, 30)
    assert not batch.simulation.fault.any()
    assert np.abs(batch.state.up[:, 2] - 1.0).max() < 0.1
    apart = batch.captured_distances()[:, np.array(TRACKED)[[LEFT_HAND, RIGHT_HAND]]]
    assert apart.max() < 0.15
    assert batch.episode_info()["captured_distance"].max() < 0.3


def test_a_body_that_is_too_far_from_the_trackers_ends_its_episode(
    character: Character,
) -> None:
    batch = make(character, max_joint_distance=1e-3)
    _, _, terminated, _, info = batch.step(np.zeros((2, batch.action_size)))
    assert terminated.all()
    assert info["fell"].all()


def test_the_head_keeps_the_orientation_of_its_tracker(character: Character) -> None:
    batch = make(character)
    still(batch, 20)
    head = mujoco.mj_name2id(batch.simulation.model, mujoco.mjtObj.mjOBJ_BODY, "Head")
    turn = batch.simulation.bind("xmat")[0, head].reshape(3, 3)
    wanted = batch.tracked.axes[batch.newest()[0], 4]
    assert np.arccos(np.clip((turn[:, :2].T * wanted).sum(axis=1), -1, 1)).max() < 0.2


def test_whole_body_control_is_for_legs_that_follow_poses() -> None:
    with pytest.raises(ConfigError, match="whole_body_control needs legs = poses"):
        LocomotionConfig().override(
            "environment", task="track_body", whole_body_control=True
        )
