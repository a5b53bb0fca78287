"""The observation: layout, frames and hand-computed values."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.contract import EYE_HEIGHT
from ambulo.envs.vr.task.observation import PRIVILEGED, observation_layout, observe
from ambulo.envs.vr.world.state import WorldState
from ambulo.policies.networks.actor_critic import ROUTE_COLUMNS

GUIDE = Path(__file__).parents[4] / "docs" / "vr_navigation.md"
PUBLISHED = [
    ("camera_position", 3), ("camera_rotation", 4), ("camera_velocity", 3),
    ("camera_angular_velocity", 3), ("ray_sensors", 16),
    ("left_controller_position", 3), ("right_controller_position", 3),
    ("left_controller_velocity", 3), ("right_controller_velocity", 3),
    ("goal_position", 3), ("goal_distance", 1), ("goal_direction", 3),
]  # fmt: skip


def state_at(x: float, y: float, yaw: float) -> WorldState:
    """One env at rest."""
    state = WorldState.zeros(1, 16)
    state.position[0] = x, y, 0.0
    state.yaw[0] = yaw
    state.rays[:] = np.linspace(0.5, 5.0, 16)
    return state


def observed(
    state: WorldState, goal: list[float], origin: list[float], frame: str
) -> dict:
    """Named parts of one env's observation."""
    layout = observation_layout(
        NavigationConfig().override("observations", frame=frame)
    )
    out = np.zeros((1, layout.size), np.float32)
    observe(state, np.array([goal]), np.array([origin]), frame, out)
    return {
        name: out[0, s] for name, s in layout.slices().items() if s.stop <= layout.size
    }


def test_published_order() -> None:
    """48 numbers, in the published order of the documents."""
    layout = observation_layout(NavigationConfig())
    assert [(p.name, p.size) for p in layout.parts] == PUBLISHED
    assert layout.size == 48
    rows = layout.schema()
    assert rows[4] == rows[4] | {"start": 13, "stop": 29, "unit": "m"}


def test_world_frame_values() -> None:
    """A player at (1, 2) looking along +Y, goal at (4, 6)."""
    state = state_at(1.0, 2.0, math.pi / 2)
    state.velocity[0] = 0.5, 1.0, 0.0
    state.yaw_rate[0] = 0.3
    seen = observed(state, [4.0, 6.0, 0.0], [9.0, 9.0, 1.0], "world")
    np.testing.assert_allclose(seen["camera_position"], [1, 2, EYE_HEIGHT])
    half = math.sqrt(0.5)
    np.testing.assert_allclose(seen["camera_rotation"], [0, 0, half, half], atol=1e-6)
    np.testing.assert_allclose(seen["camera_velocity"], [0.5, 1.0, 0])
    np.testing.assert_allclose(seen["camera_angular_velocity"], [0, 0, 0.3])
    np.testing.assert_allclose(seen["goal_position"], [3, 4, 0])
    np.testing.assert_allclose(seen["goal_distance"], [5])
    np.testing.assert_allclose(seen["goal_direction"], [0.6, 0.8, 0])
    np.testing.assert_allclose(
        seen["left_controller_position"], [-0.22, 0.35, 1.1], atol=1e-6
    )
    np.testing.assert_allclose(
        seen["left_controller_velocity"],
        [0.5 - 0.3 * 0.35, 1.0 + 0.3 * -0.22, 0], atol=1e-6,
    )  # fmt: skip


def test_head_frame_values() -> None:
    """In the head frame the goal of the same player lies ahead and to the right."""
    state = state_at(1.0, 2.0, math.pi / 2)
    state.velocity[0] = 0.5, 1.0, 0.0
    seen = observed(state, [4.0, 6.0, 0.0], [1.0, 1.0, math.pi / 2], "head")
    np.testing.assert_allclose(seen["goal_position"], [4, -3, 0], atol=1e-6)
    np.testing.assert_allclose(seen["camera_velocity"], [1.0, -0.5, 0], atol=1e-6)
    np.testing.assert_allclose(seen["camera_position"], [1, 0, EYE_HEIGHT], atol=1e-6)
    np.testing.assert_allclose(seen["camera_rotation"], [0, 0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(seen["right_controller_position"], [0.35, -0.22, 1.1])


@pytest.mark.parametrize("turn", [0.4, 2.0, -3.0, 9.5])
def test_head_frame_is_invariant(turn: float) -> None:
    """Turning and shifting the whole world leaves the head-frame observation as it was."""
    cos, sin = math.cos(turn), math.sin(turn)
    spin = np.array([[cos, -sin], [sin, cos]])
    shift = np.array([40.0, -7.0])
    goal, here, begin = np.array([4.0, 6.0]), np.array([1.0, 2.0]), np.array([0.0, 1.0])
    first = observed(state_at(*here, 0.3), [*goal, 0.0], [*begin, 0.1], "head")
    moved = [spin @ p + shift for p in (goal, here, begin)]
    second = observed(
        state_at(*moved[1], 0.3 + turn),
        [*moved[0], 0.0],
        [*moved[2], 0.1 + turn],
        "head",
    )
    for name, values in first.items():
        np.testing.assert_allclose(values, second[name], atol=1e-5, err_msg=name)


def test_privileged_numbers_come_last() -> None:
    """The actor's numbers do not move when the critic's are added."""
    layout = observation_layout(NavigationConfig())
    assert layout.full_size == layout.size + 6
    names = [part.name for part in PRIVILEGED for _ in range(part.size)]
    assert list(layout.slices())[-1] == names[-1]
    expected = ["geodesic_direction", "geodesic_direction", "detour"]
    assert [names[column] for column in ROUTE_COLUMNS] == expected
    assert len(layout.scales()) == layout.full_size


def test_guide_names_the_parts_in_order() -> None:
    """The guide lists the parts and sizes of the observation as they are."""
    parts = ", ".join(f"`{name}` ({size})" for name, size in PUBLISHED)
    assert parts in " ".join(GUIDE.read_text(encoding="utf-8").split())
