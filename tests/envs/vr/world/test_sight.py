"""What worlds tell beside the lengths of rays: their ends, floors along them, moving things."""

import numpy as np
import pytest

from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.geometry.solid_ray_kernels import DROP, MOVER, NOTHING, WALL
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import Mover
from ambulo.envs.vr.world.compiled_world import CompiledWorld
from ambulo.envs.vr.world.mujoco_world import MujocoWorld

SPEC = WorldSpec(surroundings=True)


def level(**parts):
    """A floor of 20 m with `parts`."""
    return Level("sight", np.array([-10.0, -10.0, 10.0, 10.0]), heights=True, **parts)


def state_in(of, spec=SPEC, pose=(0.0, 0.0, 0.0), world=CompiledWorld):
    """The state of one env at `pose` in a level."""
    made = world(1, spec)
    made.set_levels([0], [of])
    made.reset(np.array([0]), np.array([0]), np.array([pose]))
    return made.state


def slider(x, y, half, phase=0.0):
    """A box that slides 1 m along Y in 2 s and back."""
    path = np.array([[0.0, x, y, half[2], 0.0], [2.0, x, y + 1.0, half[2], 0.0]])
    return Mover("door", np.array(half), path, "back_and_forth", phase)


@pytest.mark.parametrize("world", [CompiledWorld, MujocoWorld])
def test_rays_tell_what_ends_them(world):
    wall = np.array([[2.0, 0.0, 1.0, 0.1, 0.4, 1.0, 0.0]])
    pit = np.array([[-3.0, -0.5, -2.0, 0.5]])
    mover = slider(0.0, 2.0, (0.5, 0.1, 1.0))
    state = state_in(level(boxes=wall, holes=pit, movers=(mover,)), world=world)
    assert state.ray_ends[0, [0, 4, 8, 12]].tolist() == [WALL, MOVER, DROP, NOTHING]
    np.testing.assert_allclose(
        state.rays[0, [0, 4, 8, 12]], [1.9, 1.9, 2.0, 5.0], atol=2e-3
    )
    np.testing.assert_allclose(state.ray_floors[0], 0.0, atol=1e-6)


@pytest.mark.parametrize("world", [CompiledWorld, MujocoWorld])
def test_floors_along_a_ray_are_those_of_a_ramp(world):
    ramp = np.array([[1.0, 0.0, 0.0, 5.0, 0.0, 2.0, 2.0, 0.0]])
    state = state_in(level(ramps=ramp), world=world)
    far = state.rays[0, 0]
    at = np.array([0.25, 0.5, 0.75, 1.0]) * far - [0.0, 0.0, 0.0, 0.02]
    expected = np.clip(0.5 * (at - 1.0), 0.0, 2.0)
    np.testing.assert_allclose(state.ray_floors[0, 0], expected, atol=5e-3)


def test_plain_worlds_tell_nothing_more():
    state = state_in(level(), WorldSpec())
    assert state.ray_ends.size == state.ray_floors.size == state.movers.size == 0


@pytest.mark.parametrize("world", [CompiledWorld, MujocoWorld])
def test_things_behind_walls_are_not_in_sight(world):
    near, far = slider(2.0, 1.0, (0.1, 0.4, 1.0)), slider(-2.0, 1.0, (0.1, 0.3, 1.0))
    wall = np.array([[-1.0, 1.0, 1.5, 0.1, 3.0, 1.5, 0.0]])
    open_ = state_in(level(movers=(near, far)), world=world)
    assert (open_.movers[0, :, 8] != 0).sum() == 2
    hidden = state_in(level(boxes=wall, movers=(near, far)), world=world)
    assert (hidden.movers[0, :, 8] != 0).sum() == 1
    np.testing.assert_allclose(hidden.movers[0, 0, :4], [2.0, 1.0, 0.1, 0.4])


def test_velocities_are_those_of_the_last_step():
    made = CompiledWorld(1, SPEC)
    made.set_levels([0], [level(movers=(slider(2.0, 1.0, (0.1, 0.4, 1.0)),))])
    made.reset(np.array([0]), np.array([0]), np.zeros((1, 3)))
    made.step(np.zeros((1, 3)))
    np.testing.assert_allclose(
        made.state.movers[0, 0, 9:], [0.0, 0.5, 0.0, 0.0], atol=1e-9
    )
