"""Track: bodies in the place of their clip, what they see, when an episode ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fixtures.swaying import swaying_reference

from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.observation import AHEAD
from ambulo.envs.tasks.track import TrackBatch


def make(character: Character, bodies: int, **settings: Any) -> TrackBatch:
    quiet = {"start_position_noise": 0.0, "start_velocity_noise": 0.0, **settings}
    config = LocomotionConfig().override("environment", task="track", **quiet)
    reference = swaying_reference(character)
    batch = TrackBatch(config, reference, character, num_envs=bodies)
    batch.seed(list(range(bodies)))
    return batch


def begin(batch: TrackBatch, clip: int, step: int) -> None:
    bodies = np.arange(batch.num_envs)
    batch.choose(bodies, np.full_like(bodies, clip), np.full_like(bodies, step))
    batch.reset(bodies)


def test_a_body_begins_in_the_state_of_its_clip(character: Character) -> None:
    batch = make(character, 2)
    begin(batch, 1, 7)
    table = batch.reference.gaits[1].table
    np.testing.assert_allclose(batch.simulation.qpos[0], table.qpos[35], atol=1e-9)
    np.testing.assert_allclose(batch.simulation.qvel[0], table.qvel[35], atol=1e-9)
    assert batch.joint_distance.max() < 1e-6
    seen = batch.layout.slices()
    for part in ("place_deviation", "turn_deviation", "joint_deviation"):
        assert np.abs(batch.obs[:, seen[part]]).max() < 1e-6


def test_what_is_seen_ahead_is_the_clip_from_the_body(character: Character) -> None:
    batch = make(character, 1)
    begin(batch, 0, 4)
    table = batch.reference.gaits[0].table
    for steps in AHEAD:
        row = min(20 + 5 * steps, len(table.qpos) - 1)
        apart = batch.simulation.tangent.difference(
            table.qpos[row : row + 1], batch.simulation.qpos
        )
        where = batch.layout.slices()[f"joints_{steps}"]
        np.testing.assert_allclose(batch.obs[:, where], apart[:, 6:], atol=1e-5)


def test_observations_do_not_depend_on_the_place_and_heading(
    character: Character,
) -> None:
    batch = make(character, 1)
    seen = []
    for clip in (0, 1):  # the second faces elsewhere; both begin alike
        begin(batch, clip, 0)
        seen.append(batch.obs.copy())
    np.testing.assert_allclose(seen[0], seen[1], atol=1e-5)


@pytest.mark.parametrize("settings", [{}, {"feed_forward": True, "action_scale": 0.25}])
def test_an_episode_is_truncated_at_the_end_of_the_clip(
    character: Character, settings: dict[str, Any]
) -> None:
    batch = make(character, 1, **settings)
    assert batch.config.environment.feed_forward == bool(settings)
    begin(batch, 0, 33)
    still = np.zeros((1, batch.action_size))
    ends = [batch.step(still)[2:4] for _ in range(3)]
    assert [bool(terminated[0]) for terminated, _ in ends] == [False] * 3
    assert [bool(truncated[0]) for _, truncated in ends] == [False, False, True]


def test_joints_far_from_the_clip_end_an_episode(character: Character) -> None:
    batch = make(character, 1, max_joint_distance=1e-3)
    begin(batch, 0, 0)
    pushed = np.zeros((1, batch.action_size))
    pushed[0, 3:] = 0.5
    terminated = batch.step(pushed)[2]
    assert terminated[0]
    assert batch.sampler.failures[0] > 0.5 > batch.sampler.failures[1] - 1e-9


def test_random_starts_leave_time_and_first_frames_are_among_them(
    character: Character,
) -> None:
    batch = make(character, 200)
    batch.reset(np.arange(200))
    steps = batch.frame // 5
    left = batch.library.knots[batch.clip] - steps
    assert left.min() >= 30
    assert set(batch.clip) == {0, 1}
    assert (steps == 0).sum() > 10
    first = make(character, 20, start="first")
    first.reset(np.arange(20))
    assert not first.frame.any()


def test_the_teacher_leads_from_what_is_shown_to_the_fitted_targets(
    character: Character,
) -> None:
    batch = make(character, 1, captured_share=0.5)
    assert batch.clip_names == (
        "short", "long", "short as captured", "long as captured",
    )  # fmt: skip
    stiffness = 1.0 / batch.config.environment.action_scale
    begin(batch, 0, 3)
    actions = batch.teacher_actions()
    # Without a deviation, a torque of 0.5 N m alone moves the targets.
    knee = list(batch.dofs).index(character.dofs("TibiaR")[0])
    gain = batch.simulation._spd.stiffness[character.dofs("TibiaR")[0]]
    assert actions[0, knee] == pytest.approx(0.5 / gain * stiffness, rel=1e-6)


def test_with_whole_body_control_the_teacher_says_the_rest(
    character: Character,
) -> None:
    """Control and teacher together do what the teacher does alone."""
    done = []
    for on in (True, False):
        batch = make(character, 2, whole_body_control=on, start_velocity_noise=0.2)
        begin(batch, 0, 3)
        for _ in range(5):
            batch.step(batch.teacher_actions())
        done.append(batch.simulation.qpos.copy())
    np.testing.assert_allclose(done[0], done[1], atol=1e-6)


def test_whole_body_control_is_for_motors_that_track() -> None:
    for wrong in ({"task": "stand"}, {"task": "track", "actuation": "muscle"}):
        with pytest.raises(ConfigError, match="whole_body_control needs task = track"):
            LocomotionConfig().override("environment", whole_body_control=True, **wrong)


def test_whole_body_control_holds_a_body_that_drifts(character: Character) -> None:
    """Without it, and without a policy, such bodies are off the clip."""
    apart = []
    for on in (True, False):
        settings = {"start_velocity_noise": 0.1}
        batch = make(character, 8, whole_body_control=on, **settings)
        begin(batch, 1, 0)
        still = np.zeros((8, batch.action_size))
        for _ in range(30):
            batch.step(still)
        apart.append(np.median(batch.joint_distance))
    assert apart[0] < 0.03 < 0.5 * apart[1]


def test_clips_without_feedback_teach_nothing(character: Character) -> None:
    from dataclasses import replace

    reference = swaying_reference(character)
    bare = tuple(replace(gait, controller=None) for gait in reference.gaits)
    config = LocomotionConfig().override("environment", task="track")
    batch = TrackBatch(config, replace(reference, gaits=bare), character, num_envs=1)
    batch.reset(np.arange(1))
    with pytest.raises(ConfigError, match="clip short: has no feedback"):
        batch.teacher_actions()
