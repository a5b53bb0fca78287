"""What a body feels of things that are not the ground."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from ambulo.envs.characters.character import Character
from ambulo.envs.characters.human23 import human23_spec
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.envs.simulation.terrain import make_ground
from ambulo.envs.simulation.touch import (
    BOXES,
    PARKED,
    PlacedBoxes,
    TouchForces,
    add_boxes,
    add_touch_sensors,
)


def simulation(
    character: Character, count: int, *, wall: bool = False
) -> CharacterSimulation:
    """Bodies with sensors and boxes; with `wall`, a fixed one whose face is at x = 0.08."""
    spec = human23_spec()
    if wall:
        geom = spec.worldbody.add_geom(name="wall", type=mujoco.mjtGeom.mjGEOM_BOX)
        geom.size, geom.pos = [0.1, 2.0, 1.2], [0.18, 0.0, 1.2]
        geom.contype, geom.conaffinity = 1, 0
    add_touch_sensors(spec)
    add_boxes(spec)
    model = spec.compile()
    model.opt.timestep = character.model.opt.timestep
    bodies = CharacterSimulation(character, count, model=model)
    rest = np.tile(model.qpos0, (count, 1))
    bodies.reset(np.arange(count), np.zeros(count), rest, np.zeros((count, model.nv)))
    return bodies


def held(bodies: CharacterSimulation, steps: int) -> None:
    """Let bodies hold their rest pose for some steps."""
    target = np.tile(bodies.model.qpos0, (bodies.count, 1))
    for _ in range(steps):
        bodies.step(target, np.zeros((bodies.count, bodies.model.nv)))


def test_the_ground_alone_is_not_felt(character: Character) -> None:
    bodies = simulation(character, 2)
    touch = TouchForces(bodies)
    pressed = 0.0
    for _ in range(20):
        held(bodies, 1)
        np.testing.assert_allclose(touch.now(), 0.0, atol=1e-9)
        pressed = max(pressed, float(np.abs(bodies.bind("sensordata")).max()))
    assert pressed > 300.0  # about half of the body's weight, and more


@pytest.mark.parametrize("ground", ["pieces", "steps_up"])
def test_ground_of_several_pieces_is_not_felt(
    character: Character, ground: str
) -> None:
    """Levels with pits have many pieces of floor, and so has a course of steps."""
    spec = human23_spec()
    if ground == "pieces":
        spec.delete(spec.geom("floor"))
        for number, side in enumerate((-1.0, 1.0)):
            geom = spec.worldbody.add_geom(
                name=f"floor{number}", type=mujoco.mjtGeom.mjGEOM_BOX
            )
            geom.size, geom.pos = [3.0, 1.0, 0.5], [0.0, side, -0.5]
            geom.contype, geom.conaffinity = 1, 0
    else:
        make_ground(ground, 0.05).put_into(spec)
    add_touch_sensors(spec)
    model = spec.compile()
    model.opt.timestep = character.model.opt.timestep
    bodies = CharacterSimulation(character, 1, model=model)
    rest = model.qpos0[None].copy()
    bodies.reset(np.arange(1), np.zeros(1), rest, np.zeros((1, model.nv)))
    touch = TouchForces(bodies)
    for _ in range(10):
        held(bodies, 1)
        np.testing.assert_allclose(touch.now(), 0.0, atol=1e-9)
    pieces = [
        abs(float(bodies.bind("sensordata")[0, int(model.sensor(k).adr[0]) + 2]))
        for k in range(model.nsensor)
    ]
    assert max(pieces) > 200.0
    if ground == "pieces":  # a leg on each
        assert min(pieces[1:]) > 100.0


def test_a_box_ahead_pushes_back_on_its_own_body_alone(character: Character) -> None:
    bodies = simulation(character, 3)
    touch, boxes = TouchForces(bodies), PlacedBoxes(bodies)
    boxes.place[1, 0] = 0.18, 0.0, 0.0  # a wall ahead, 2 cm inside the trunk
    boxes.place[2, 0] = 0.0, 0.18, np.pi / 2.0  # one at the left side
    boxes.show()
    bodies.forward(np.arange(3))
    held(bodies, 1)
    force = touch.now()
    np.testing.assert_allclose(force[0], 0.0, atol=1e-9)
    assert force[1, 0] < -20.0
    assert force[2, 1] < -20.0


def test_walls_of_the_model_itself_are_felt(character: Character) -> None:
    bodies = simulation(character, 1, wall=True)
    held(bodies, 1)
    assert TouchForces(bodies).now()[0, 0] < -20.0


def test_boxes_are_parked_and_move(character: Character) -> None:
    bodies = simulation(character, 2)
    boxes = PlacedBoxes(bodies)
    places = bodies.bind("mocap_pos")
    assert places.shape == (2, len(BOXES), 3)
    assert (places[..., 0] >= PARKED).all()
    boxes.place[1, 2, :2] = 3.0, 1.0
    boxes.velocity[1, 2] = -0.5, 0.0
    for _ in range(4):
        boxes.advance(0.5)
    np.testing.assert_allclose(places[1, 2], [2.0, 1.0, BOXES[2].half[2]])
    assert (places[0, :, 0] >= PARKED).all()
    boxes.park(np.array([1]))
    assert (places[1, :, 0] >= PARKED).all()
    assert not boxes.velocity.any()


def test_a_box_without_friction_does_not_rub(character: Character) -> None:
    """A pyramid of no friction would make the solver fail."""
    model = simulation(character, 1).model
    plain = [box.friction == 0.0 for box in BOXES]
    condim = [int(model.geom(f"box{i}").condim[0]) for i in range(len(BOXES))]
    assert condim == [1 if no else 3 for no in plain]
