"""Clips that a body really makes: a part of the suite's own walk, which is no cycle."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError, MotionError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.balance import BalanceController
from ambulo.envs.reference.clips.clip_reference import ClipReference, clip_reference
from ambulo.envs.reference.clips.fit import FIRM, _Fit
from ambulo.envs.reference.clips.raw_clip import raw_clip
from ambulo.envs.reference.clips.survival import Disturbance, survival
from ambulo.envs.reference.gaits import Gaits
from ambulo.envs.reference.linearization import deviations, follow, start
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.motion.gaits.plain_walk import plain_walk
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply

pytestmark = pytest.mark.integration

DT = 1.0 / 30.0


@pytest.fixture(scope="module")
def walk(character: Character) -> Motion:
    whole = plain_walk(character.skeleton).motion(2)
    return whole[: round(0.55 * whole.fps)]


@pytest.fixture(scope="module")
def found(character: Character, walk: Motion) -> ClipReference:
    return clip_reference(walk, character, bodies=0)


def test_the_body_does_it_near_the_clip(found: ClipReference) -> None:
    assert found.falls_at is None
    assert found.report["error_world"] < 0.065
    assert found.report["offset"] > 0.01
    assert (
        len(found.clip) == len(found.body) == 1 + round(found.report["duration"] / DT)
    )
    assert found.needs == ()


def test_without_feedback_and_disturbance_it_is_repeated_exactly(
    character: Character, found: ClipReference
) -> None:
    table, one = found.reference.table, np.zeros(1)
    body = CharacterSimulation(character, 1)
    start(body, one, *table.at(one))
    for _ in range(round(table.period / DT)):
        follow(body, table, np.zeros((1, character.model.nv)))
        assert max(np.abs(part).max() for part in deviations(body, table)) < 1e-9


def test_its_feedback_holds_bodies_that_fall_without(
    character: Character, found: ClipReference
) -> None:
    gait = found.reference.gaits[0]
    assert gait.controller is not None
    without = replace(gait.controller, gains=np.zeros_like(gait.controller.gains))
    disturbance = Disturbance("hard", position=0.05, velocity=2.0, impulse=60.0)

    def share(controller: BalanceController) -> float:
        return survival(
            character, gait.table, controller, disturbance, control_dt=DT, bodies=24
        )

    assert share(gait.controller) > share(without)


def test_a_clip_is_improved_as_a_whole(character: Character, walk: Motion) -> None:
    """With half its strength a body ends nearer to the clip by it."""
    character = replace(character, model=copy(character.model))
    character.model.actuator_forcerange *= 0.5
    one = _Fit(character, raw_clip(walk, character).table, DT, 0.5, FIRM)
    one.run(lambda done, of: None, 8)
    before = one.farthest
    one.improve_whole(lambda done, of: None)
    assert one.farthest < 0.95 * before


def test_tasks_of_cycles_refuse_it(character: Character, found: ClipReference) -> None:
    with pytest.raises(ConfigError, match="a clip that ends; the walking tasks follow"):
        Gaits(found.reference, character)


def test_too_short_and_too_long(character: Character, walk: Motion) -> None:
    with pytest.raises(MotionError, match=r"a clip to follow lasts 0\.5 s or more"):
        clip_reference(walk[:3], character)
    long = plain_walk(character.skeleton).motion(2).replace(fps=8.0)
    with pytest.raises(MotionError, match=r"lasts 0\.5 to 60 s: choose a part"):
        clip_reference(long, character)


@pytest.mark.slow
def test_a_clip_that_nothing_holds_says_when_the_body_falls(
    character: Character, still: Motion
) -> None:
    lean = quat_from_rotvec(np.array([0.0, np.deg2rad(50.0), 0.0]))
    rotations = still.rotations.copy()
    rotations[:, 0] = quat_multiply(lean, rotations[:, 0])
    leaning = still.replace(rotations=rotations)[: round(1.2 * still.fps)]
    found = clip_reference(leaning, character, bodies=5)
    assert found.falls_at is not None
    assert 0.2 < found.falls_at < 1.2
    assert found.report["falls_at"] == found.falls_at
    assert np.isfinite(found.reference.table.qpos).all()
    assert "beside its feet" in found.needs[0].why
