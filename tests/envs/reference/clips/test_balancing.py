"""Clips that lean over the edge of their feet are moved over them, others hardly."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.balancing import (
    balanced,
    bearing_places,
    beside,
    center_of_pressure,
    sole_reach,
)
from ambulo.envs.reference.inverse_dynamics import root_wrench
from ambulo.envs.reference.joint_positions import motion_states
from ambulo.motion.gaits.plain_walk import plain_walk
from ambulo.motion.gaits.planting import with_shifted_feet
from ambulo.motion.gaits.soles import sole_places
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample


def over_the_edge(motion: Motion, character: Character) -> np.ndarray:
    """How far the centre of pressure is beside the soles, negative within, [m]. (T,)."""
    wrench = root_wrench(character.model, motion_states(motion, character.model))
    center, pressed = center_of_pressure(wrench, 12)
    reach = sole_reach(sole_places(motion, character.soles), 1)
    known = pressed & np.isfinite(reach).all(axis=1)
    return beside(center[known], reach[known])


def leaning(still: Motion, far: float, heading: float) -> Motion:
    """`still` with its feet where they were and the rest moved slowly by `far`, [m]."""
    part = 0.5 - 0.5 * np.cos(2.0 * np.pi * still.times / still.duration)
    way = far * np.array([np.cos(heading), np.sin(heading), 0.0])
    path = part[:, None] * way
    moved = still.replace(root_positions=still.root_positions + path)
    return with_shifted_feet(moved, np.repeat(-path[:, None], 2, axis=1))


@pytest.mark.parametrize("heading", [0.0, 2.5, 4.0])
def test_a_leaning_body_is_moved_over_its_feet(
    character: Character, still: Motion, heading: float
) -> None:
    clip = resample(leaning(still, 0.17, heading), 150.0)
    before = over_the_edge(clip, character).max()
    assert before > 0.015
    found, shift = balanced(clip, character)
    assert over_the_edge(found, character).max() < 0.0
    assert np.abs(shift).max() < 0.2
    feet = [sole_places(one, character.soles) for one in (clip, found)]
    assert np.linalg.norm(feet[1] - feet[0], axis=-1).mean() < 0.01


def test_a_clip_does_not_run_away_at_its_ends(
    character: Character, still: Motion
) -> None:
    path = np.repeat([[0.17, 0.0, 0.0]], len(still), axis=0)
    moved = still.replace(root_positions=still.root_positions + path)
    clip = with_shifted_feet(moved, np.repeat(-path[:, None], 2, axis=1))
    for part in (clip, clip[:30]):
        one = resample(part, 150.0)
        assert over_the_edge(one, character).mean() > 0.0
        found, shift = balanced(one, character)
        assert over_the_edge(found, character).max() < -0.005
        np.testing.assert_allclose(
            shift, shift[:1].repeat(len(shift), axis=0), atol=0.02
        )


def test_balance_is_left_alone(character: Character, still: Motion) -> None:
    found, shift = balanced(resample(still, 150.0), character)
    assert np.abs(shift).max() < 0.005
    walk = resample(plain_walk(character.skeleton).motion(3), 150.0)
    found, shift = balanced(walk, character)
    assert len(found) == len(walk)
    assert np.linalg.norm(shift, axis=1).mean() < 0.03
    over = [np.maximum(over_the_edge(one, character), 0.0) for one in (walk, found)]
    assert over[1].mean() <= over[0].mean()


def test_soles_reach_as_far_from_the_ankles_as_their_motors_can_carry(
    character: Character, still: Motion
) -> None:
    places = sole_places(still, character.soles)
    np.testing.assert_array_equal(bearing_places(still, character), places)
    model = copy(character.model)
    model.actuator_forcerange[:] = [-15.0, 15.0]
    weak = replace(character, model=model)
    near = bearing_places(still, weak)
    half = 0.5 * model.body_mass.sum() * 9.81
    for side in (0, 1):
        own = near[:, np.array(character.soles.sides) == side, :2]
        assert np.ptp(own[0, :, 0]) < 2.0 * 15.0 / half + 1e-6
    np.testing.assert_array_equal(near[..., 2], places[..., 2])
