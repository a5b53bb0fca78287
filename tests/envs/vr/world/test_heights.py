"""The compiled world in levels with heights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ambulo.configs.errors import LevelError
from ambulo.configs.twin import find_twin
from ambulo.envs.vr.body.twin_world import TwinWorld
from ambulo.envs.vr.contract import CLIMB_HEIGHT, WorldSpec
from ambulo.envs.vr.levels.level_io import parse_level
from ambulo.envs.vr.world.compiled_world import CompiledWorld
from tests.envs.vr.levels.test_surfaces import STOREYS


def _world(data: dict[str, Any], *pose: float, **spec: Any) -> CompiledWorld:
    base = {"name": "l", "bounds": [-10, -10, 10, 10], "heights": True}
    level = parse_level({**base, **data}, "x", solvable=False)
    world = CompiledWorld(1, WorldSpec(**spec))
    world.set_levels([0], [level])
    world.reset(np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([pose]))
    return world


def _walk(world: CompiledWorld, steps: int, *action: float) -> np.ndarray:
    track = [world.step(np.array([action])).position[0].copy() for _ in range(steps)]
    return np.array(track)


def test_up_the_ramp_over_the_deck_and_down_the_stairs() -> None:
    world = _world(STOREYS, 0.0, 0.0, 0.0)
    track = _walk(world, 68, 0, 1, 0)
    on_ramp = (track[:, 0] > 2.2) & (track[:, 0] < 5.8)
    assert track[on_ramp, 2] == pytest.approx((track[on_ramp, 0] - 2) / 2, abs=1e-6)
    on_deck = (track[:, 0] > 6.2) & (track[:, 0] < 9.8)
    assert track[on_deck, 2] == pytest.approx(2.0)
    assert track[-1, 2] == 0.0
    assert world.state.contact_ticks.sum() == 0
    assert not world.state.fell[0]


def test_below_the_deck_one_walks_on_the_ground() -> None:
    world = _world(STOREYS, 8.0, 4.0, -np.pi / 2)
    track = _walk(world, 30, 0, 1, 0)
    assert (track[:, 2] == 0.0).all()
    assert track[-1, 1] < -1.0


@pytest.mark.parametrize("height", [0.1, 0.2, 0.25, 0.26, 0.4, 1.0])
def test_steps_are_climbed_up_to_the_climb_height(height: float) -> None:
    box = {"center": [3, 0, height / 2], "half_size": [1, 3, height / 2]}
    world = _world({"boxes": [box]}, 0.0, 0.0, 0.0)
    track = _walk(world, 20, 0, 1, 0)
    if height <= CLIMB_HEIGHT:
        assert track[-1, 2] == pytest.approx(height)
        assert world.state.since_contact[0] > 1000
    else:
        assert track[:, 2].max() == 0.0
        assert track[-1, 0] < 2.0
        assert world.state.contact_ticks[0] == 9


@pytest.mark.parametrize(
    ("bottom", "passes"), [(1.5, False), (1.7, False), (1.76, True)]
)
def test_what_hangs_low_obstructs(bottom: float, passes: bool) -> None:
    box = {"center": [3, 0, bottom + 0.05], "half_size": [0.2, 3, 0.05]}
    world = _world({"boxes": [box]}, 0.0, 0.0, 0.0)
    rays = world.state.rays[0].copy()
    track = _walk(world, 25, 0, 1, 0)
    assert (track[-1, 0] > 3.5) == passes
    assert (rays[0] > 4.9) == passes
    if not passes:
        assert rays[0] == pytest.approx(2.8)


def test_a_table_is_seen_and_not_walked_through() -> None:
    top = {"center": [3, 0, 0.73], "half_size": [0.8, 0.8, 0.015]}
    world = _world({"boxes": [top]}, 0.0, 0.0, 0.0)
    assert world.state.rays[0, 0] == pytest.approx(2.2)
    track = _walk(world, 30, 0, 1, 0)
    assert track[-1, 0] == pytest.approx(2.2 - 0.25, abs=0.02)


def test_nobody_gets_under_a_ramp_from_its_open_side() -> None:
    """The room under a plank gets lower; the body stops where its head would touch."""
    plank = {"from": [0, 0, 0], "to": [6, 0, 3], "width": 2, "thickness": 0.1}
    world = _world({"ramps": [plank]}, 7.0, 0.0, np.pi)
    track = _walk(world, 40, 0, 1, 0)
    head = track[:, 0] / 2 - 0.1
    inside = track[:, 0] < 6.0
    assert inside.any()
    assert (head[inside] > 1.75).all()


def test_a_fall_of_more_than_the_fall_depth_is_one() -> None:
    for height, fell in ((0.8, False), (1.5, True)):
        box = {"center": [0, 0, height / 2], "half_size": [1, 1, height / 2]}
        world = _world({"boxes": [box]}, 0.0, 0.0, 0.0, height)
        assert world.state.position[0, 2] == height
        assert world.state.rays[0, 0] == pytest.approx(1.0)  # the edge
        track = _walk(world, 20, 0, 1, 0)
        assert world.state.fell[0] == fell
        assert track[-1, 2] == pytest.approx(0.0, abs=1e-9)
        assert track[-1, 0] > 1.2


def test_rays_follow_the_floor() -> None:
    wall = {"center": [9, 0, 3], "half_size": [0.1, 2, 1]}
    data = {**STOREYS, "boxes": [*STOREYS["boxes"], wall]}
    world = _world(data, 4.0, 0.0, 0.0, 1.0)
    assert world.state.rays[0, 0] == pytest.approx(4.9, abs=0.01)
    world = _world(data, 4.0, 0.0, np.pi, 1.0)
    assert world.state.rays[0, 0] == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("gap", "seen"), [(1e-5, 4.0), (0.04, 4.0), (0.06, 1.0), (-0.1, 4.0)]
)
def test_a_seam_between_two_floors_ends_no_ray(gap: float, seen: float) -> None:
    near = {"center": [0, 0, 0.4], "half_size": [1, 1, 0.4]}
    middle = 2.5 + gap / 2  # from the seam to x = 4
    far = {"center": [middle, 0, 0.4], "half_size": [4 - middle, 1, 0.4]}
    world = _world({"boxes": [near, far]}, 0.0, 0.0, 0.0, 0.8)
    assert world.state.rays[0, 0] == pytest.approx(seen, abs=1e-5)
    if gap > 0.05:
        return
    track = _walk(world, 15, 0, 1, 0)
    assert track[-1, 0] > 2.0
    assert np.abs(track[:, 2] - 0.8).max() < 0.02, "nobody falls into it"


def test_a_mesh_is_as_good_as_the_box_it_is_of() -> None:
    rng = np.random.default_rng(1)
    box = {"center": [2, 0.3, 0.6], "half_size": [0.7, 0.4, 0.6]}
    bits = np.array([[k & 1, k >> 1 & 1, k >> 2 & 1] for k in range(8)])
    points = np.array(box["center"]) + (2 * bits - 1) * np.array(box["half_size"])
    faces = [
        [0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4],
        [2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6], [1, 3, 5], [3, 7, 5],
    ]  # fmt: skip
    mesh = {"vertices": points.tolist(), "triangles": faces}
    ends = []
    for shapes in ({"boxes": [box]}, {"meshes": [mesh]}):
        rng = np.random.default_rng(1)
        tracks = []
        for _ in range(20):
            world = _world(shapes, 0.0, float(rng.uniform(-0.8, 1.2)), 0.0)
            actions = np.column_stack(
                [rng.uniform(-1, 1, 25), rng.uniform(0.5, 1, 25), np.zeros(25)]
            )
            tracks.append([world.step(a[None]).position[0].copy() for a in actions])
            assert np.isfinite(world.state.rays).all()
        ends.append(np.array(tracks))
    assert np.abs(ends[0] - ends[1]).max() < 0.02


def test_flat_and_high_levels_live_side_by_side() -> None:
    flat = parse_level({"name": "f", "bounds": [-10, -10, 10, 10]}, "x", solvable=False)
    high = parse_level(STOREYS, "x")
    world = CompiledWorld(3, WorldSpec())
    world.set_levels([0, 1], [flat, high])
    poses = np.zeros((3, 3))
    world.reset(np.arange(3), np.array([0, 1, 0]), poses)
    for _ in range(20):
        world.step(np.tile([0.0, 1.0, 0.0], (3, 1)))
    assert world.state.position[0].tolist() == world.state.position[2].tolist()
    assert world.state.position[1, 2] > 0.9
    assert world.state.position[0, 2] == 0.0


def test_worlds_without_heights_refuse_them() -> None:
    twin = find_twin("walk_commands")
    spec = WorldSpec(ticks_per_decision=3, dt=1 / 30, max_speed=0.5, max_yaw_rate=0.5)
    with pytest.raises(LevelError, match="'storeys': has heights"):
        TwinWorld(1, spec, twin).set_levels([0], [parse_level(STOREYS, "x")])
