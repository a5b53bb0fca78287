"""Track body on poses alone: nothing is shown before its samples have arrived."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fixtures.swaying import swaying_reference

from ambulo.configs.errors import IKError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.mirroring import mirror_of_observations
from ambulo.envs.locomotion.observation import AHEAD, TRACKER_AGES
from ambulo.envs.reference.reference import Reference
from ambulo.envs.tasks.track_body.batch import TrackBodyBatch
from ambulo.envs.tasks.track_body.walker import WalkingBodyBatch
from tests.envs.tasks.track_body.test_walker import make as walking

QUIET = {
    "legs": "poses",
    "start_position_noise": 0.0,
    "start_velocity_noise": 0.0,
    "start": "first",
}


def make(
    character: Character,
    bodies: int = 1,
    reference: Reference | None = None,
    **trackers: Any,
) -> TrackBodyBatch:
    config = LocomotionConfig().override("environment", task="track_body", **QUIET)
    config = config.override("trackers", **trackers)
    if reference is None:
        reference = swaying_reference(character)
    batch = TrackBodyBatch(config, reference, character, num_envs=bodies)
    batch.seed(list(range(bodies)))
    bodies_all = np.arange(bodies)
    batch.choose(bodies_all, np.zeros_like(bodies_all), np.zeros_like(bodies_all))
    batch.reset(bodies_all)
    return batch


def test_a_body_begins_in_the_pose_that_the_tracker_makes(character: Character) -> None:
    batch = make(character)
    row = batch.library.qpos[:1]
    apart = batch.simulation.tangent.difference(batch.simulation.qpos, row)
    assert np.abs(apart[:, [0, 1, *range(3, apart.shape[1])]]).max() < 1e-6
    assert 0.0 < batch.captured_distance[0] < 0.3


@pytest.mark.parametrize("legs", ["poses", "walk"])
def test_what_is_seen_does_not_depend_on_the_future(
    character: Character, legs: str
) -> None:
    """A clip that ends differently is seen alike until its samples arrive."""
    reference = swaying_reference(character)
    gait = replace(reference.gaits[0], captured=None)
    changed = gait.table.qpos.copy()
    at = 5 * 24
    changed[at + 1 :, :2] += np.linspace(0.0, 0.5, len(changed) - at - 1)[:, None]
    other = replace(gait, table=replace(gait.table, qpos=changed))
    seen = []
    for clip in (gait, other):
        clips = replace(reference, gaits=(clip,))
        batch: TrackBodyBatch | WalkingBodyBatch
        if legs == "poses":
            batch = make(character, 2, clips, pose_delay=0, foresight=0.2)
        else:
            batch = walking(character, clips)
        warm = len(gait.table.qpos) // 5 - int(batch.library.knots[0])
        rows = [batch.obs.copy()]
        for _ in range(24 - max(warm - 1, 0) - 2):  # the newest is one step ahead
            batch.step(np.zeros((2, batch.action_size)))
            rows.append(batch.obs.copy())
        assert len(rows) > 4
        seen.append(np.concatenate(rows))
    np.testing.assert_array_equal(seen[0], seen[1])


def test_the_newest_pose_stands_in_for_later_ones(character: Character) -> None:
    batch = make(character, pose_delay=1)
    slices = batch.layout.slices()
    two, ten = (batch.obs[0, slices[f"joints_{k}"]] for k in (2, 10))
    np.testing.assert_array_equal(two, ten)
    ahead = make(character, pose_delay=1, foresight=0.3)
    place = [ahead.obs[0, slices[f"joints_{k}"]] for k in AHEAD]
    np.testing.assert_allclose(place[1], two, atol=1e-6)
    assert np.abs(place[3] - two).max() > 1e-4


def test_absent_trackers_are_zeros(character: Character) -> None:
    batch = make(character, points=3)
    slices = batch.layout.slices()
    np.testing.assert_array_equal(batch.obs[0, slices["tracked"]], [1, 1, 0, 0, 1, 0])
    for age in TRACKER_AGES:
        places = batch.obs[0, slices[f"trackers_{age}"]].reshape(6, 3)
        seen = np.abs(places).max(axis=1) > 0.0
        assert np.flatnonzero(seen).tolist() == [0, 1, 4]


def test_trackers_are_mirrored_by_side(character: Character) -> None:
    batch = make(character, points=6)
    mirror = mirror_of_observations(batch.layout, character, batch.dofs)
    twice = mirror(mirror(batch.obs))
    np.testing.assert_array_equal(twice, batch.obs)
    where = batch.layout.slices()["trackers_0"]
    places = batch.obs[0, where].reshape(6, 3)
    np.testing.assert_allclose(mirror(batch.obs)[0, where][:3], places[1] * [1, -1, 1])


def test_support_holds_a_body_and_adds_to_pushes(character: Character) -> None:
    held, free = make(character, support=0.5), make(character)
    for batch in (held, free):
        for _ in range(15):
            batch.step(np.zeros((1, batch.action_size)))
    assert held.joint_distance[0] < free.joint_distance[0]
    assert np.abs(held.simulation.push).max() > 0.0
    assert np.abs(free.simulation.push).max() == 0.0


def test_an_unknown_network_is_named(character: Character) -> None:
    with pytest.raises(IKError, match="no such file or shipped body tracker"):
        make(character, tracker_network="ik_trackerz")
