"""Slopes and steps: heights, boxes and starts."""

from __future__ import annotations

from typing import get_args

import mujoco
import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion_env import Course as Kind
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.registry import load_character
from ambulo.envs.simulation.terrain import (
    EDGE,
    LEVEL,
    SIZE,
    STEP_LENGTH,
    Course,
    Terrain,
    make_ground,
    terrain_model,
)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("uphill", [0.0, 0.0, 0.25, 1.0]),
        ("downhill", [0.0, 0.0, -0.25, -1.0]),
        ("steps_up", [0.0, 0.0, 0.5, 1.5]),
        ("steps_down", [0.0, 0.0, -0.5, -1.5]),
    ],
)
def test_heights_along_the_way(kind: Kind, expected: list[float]) -> None:
    x = np.array([-3.0, LEVEL - 0.01, LEVEL + 2.0 - 0.0001, LEVEL + 8.0])
    x[3] = LEVEL + (8.0 if "hill" in kind else 2.5 * STEP_LENGTH)
    places = np.stack([x, np.linspace(-5.0, 5.0, 4)], axis=1)
    found = Course(kind, 0.5).height(places)  # 0.5 m over 4 m, or a step
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("kind", [*get_args(Kind), "rough", "slope"])
def test_heights_are_those_of_the_physics(character: Character, kind: str) -> None:
    course = make_ground(kind, 0.7 if "hill" in kind else 0.05)
    near = 1e-9 if isinstance(course, Course) else 0.002  # height fields are triangles
    model = terrain_model(character, course)
    assert model.opt.timestep == character.model.opt.timestep
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    rng = np.random.default_rng(0)
    for place in rng.uniform(-25.0, 25.0, (40, 2)):
        hit = np.zeros(1, np.int32)
        start, down = np.array([*place, 20.0]), np.array([0.0, 0.0, -1.0])
        depth = mujoco.mj_ray(model, data, start, down, None, 1, -1, hit)
        assert course.height(place[None])[0] == pytest.approx(20.0 - depth, abs=near)


def test_starts_lie_on_the_level_part_and_far_from_the_end() -> None:
    course, rng = Course("steps_up", 0.05), np.random.default_rng(0)
    places = np.array([course.place(rng) for _ in range(200)])
    assert places[:, 0].max() < LEVEL
    assert (course.height(places[:, :2]) == 0.0).all()
    assert (places[:, 2] == 0.0).all()
    # Feet come to the first step at any moment of a stride.
    assert np.ptp(places[:, 0]) == pytest.approx(STEP_LENGTH, rel=0.05)
    assert SIZE / 2 - places[:, 0].max() > EDGE


def test_grounds_by_name() -> None:
    assert isinstance(make_ground("steps_down", 0.05), Course)
    assert isinstance(make_ground("rough", 0.05), Terrain)
    with pytest.raises(ConfigError, match="unknown terrain 'lava'"):
        make_ground("lava", 0.1)


def test_a_body_without_a_ground_is_named() -> None:
    with pytest.raises(ConfigError, match="myolegs_motors walks on level ground only"):
        terrain_model(load_character("myolegs_motors"), Course("uphill", 0.1))
