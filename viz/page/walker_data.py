"""Recorded episodes of walkers: poses of their bodies, muscles, and actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from ambulo.common.find_model import find_model
from ambulo.configs.arrays import Floats
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference.reference import reference_from_bytes
from ambulo.envs.simulation.variants import NOMINAL
from ambulo.policies.agents.locomotion import LocomotionAgent, load_walker
from ambulo.viz.page.bundle import PageError
from ambulo.viz.page.muscle_paths import muscle_paths
from ambulo.viz.page.recording import Readout, Recording, Scene, Shape, packed

_ENV = np.array([0])
BONE, SKIN = 0xE8DFCF, 0x6B9BD2
NEAR = ((1.0, -2.4, 1.1), (0.0, 0.0, 0.75))
"""Camera that fills the picture with the body, so that single muscles are seen."""
_VISIBLE = 0
"""Group of the drawn geoms; others are for contacts and muscles."""
_KINDS = {
    mujoco.mjtGeom.mjGEOM_CAPSULE: "capsule",
    mujoco.mjtGeom.mjGEOM_SPHERE: "sphere",
    mujoco.mjtGeom.mjGEOM_BOX: "box",
    mujoco.mjtGeom.mjGEOM_MESH: "mesh",
}


@dataclass(frozen=True)
class Script:
    """Commands of a walker in one episode."""

    name: str
    about: str
    """Description, one sentence."""
    seconds: float
    orders: tuple[tuple[float, float, float, float], ...] = ()
    """Commands: time from which they apply, [s], speed ahead, [m/s], turning rate, [deg/s], and
    speed to the left, [m/s]."""
    push: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Time, [s], and impulse along X and Y, [N s], of a push."""


WALKER_SCENES = (
    Script("Walk and stop", "It starts from standing, walks at 1 m/s, and stops.", 11.0,
          ((0.0, 0.0, 0.0, 0.0), (0.7, 1.0, 0.0, 0.0), (7.0, 0.0, 0.0, 0.0))),
    Script("Walk a curve", "It walks at 0.7 m/s and turns by 50 degrees a second.", 10.0,
          ((0.0, 0.7, 50.0, 0.0),)),
    Script("Turn on the spot", "It turns on the spot, left, then right.", 10.0,
          ((0.0, 0.0, 90.0, 0.0), (5.0, 0.0, -90.0, 0.0))),
    Script("Side-steps", "It steps to the left, then to the right.", 10.0,
          ((0.0, 0.0, 0.0, 0.25), (5.0, 0.0, 0.0, -0.25))),
    Script("Backwards", "It steps backwards at 0.2 m/s.", 8.0, ((0.0, -0.2, 0.0, 0.0),)),
    Script("Fast", "It walks at 1.6 m/s.", 9.0, ((0.0, 1.6, 0.0, 0.0),)),
    Script("Pushed while standing", "It is pushed by 20 N s from behind, and steps.", 8.0,
          ((0.0, 0.0, 0.0, 0.0),), (2.5, 20.0, 0.0)),
)  # fmt: skip
"""Scenes of the walker's page."""

MUSCLE_SCENES = (
    Script("Walk", "It walks at about 1 m/s by its muscles.", 8.0),
    Script("Pushed", "It is pushed by 5 N s from the side after 2.5 s.", 8.0,
          push=(2.5, 0.0, 5.0)),
)  # fmt: skip
"""Scenes of the muscle walker's page."""


def walker_data(model: str) -> dict[str, bytes]:
    """Return the recordings of `WALKER_SCENES` by the policy `model`."""
    picture = "A simulated body that walks on a grid of one metre"
    return _data(model, WALKER_SCENES, picture)


def muscle_data(model: str) -> dict[str, bytes]:
    """Return the recordings of `MUSCLE_SCENES` by the policy `model`."""
    picture = "Legs with their bones and muscles that walk on a grid of one metre"
    return _data(model, MUSCLE_SCENES, picture, camera=NEAR)


def _data(
    model: str, scripts: Sequence[Script], picture: str, **settings: Any
) -> dict[str, bytes]:
    agent = load_walker(find_model(model))
    batch = standing_batch(agent)
    bodies, shapes = drawn_geoms(batch.simulation.model)
    scenes = [record(batch, agent, script, bodies) for script in scripts]
    names, speed = list(agent.metadata.actions), Readout("Speed of the body", "m/s")
    dt = batch.simulation.dt
    return packed(Recording(picture, dt, shapes, scenes, names, [speed], **settings))


def standing_batch(agent: LocomotionAgent) -> Any:
    """Return the environment of an agent, one body without disturbance."""
    config = agent.config.override(
        "environment", push_impulse=(0.0, 0.0), max_episode_steps=100_000, start="first"
    )
    if config.environment.traits.commands == 3:
        config = config.override("walk", stand_start=1.0, obstacles=0.0)
    reference = reference_from_bytes(agent.references[0], "the walker's reference")
    return make_batch(
        config, 1, seed=0, reference=reference, muscles=agent.muscles, variant=NOMINAL
    )


def record(
    batch: Any, agent: LocomotionAgent, script: Script, bodies: Sequence[int]
) -> Scene:
    """Return one episode.

    Raises:
        PageError: The body falls.
    """
    sim = batch.simulation
    places, turns = sim.bind("xpos"), sim.bind("xquat")
    data = mujoco.MjData(sim.model)
    obs = batch.reset(_ENV)
    scene, orders = Scene(script.name, script.about), list(script.orders)
    for frame in range(round(script.seconds / sim.dt)):
        now = frame * sim.dt
        while orders and orders[0][0] <= now:
            _, speed, turn, side = orders.pop(0)
            batch.set_command(
                _ENV, np.array([speed]), np.deg2rad([turn]), np.array([side])
            )
        _push(batch, script, now)
        action = agent.act(obs)
        parts = {
            "poses": np.concatenate([places[0, bodies], turns[0, bodies]], axis=1),
            "bars": action[0].copy(),
            "readouts": np.hypot(*batch.state.heading[0, :2]),
        }
        if sim.model.ntendon:
            sim.copy_data(0, data)
            parts["lines"] = muscle_paths(sim.model, data)
            parts["values"] = np.minimum(1.5 * data.act, 1.0)
        scene.frames.append(parts)
        obs, _, terminated, _, _ = batch.step(action)
        if terminated[0]:
            raise PageError(f"scene {script.name!r}: the body fell after {now:.1f} s")
    return scene


def _push(batch: Any, script: Script, now: float) -> None:
    """Push the body for one control step, at the time of the script."""
    time, x, y = script.push
    dt, root = batch.simulation.dt, batch._pelvis
    acts = (x or y) and time <= now < time + dt - 1e-9
    batch.simulation.push[0, root, :2] = (x / dt, y / dt) if acts else (0.0, 0.0)


def drawn_geoms(model: mujoco.MjModel) -> tuple[list[int], list[Shape]]:
    """Return the drawn bodies, the root first, and their geoms."""
    bodies: list[int] = []
    geoms: list[Shape] = []
    for k in range(model.ngeom):
        kind, body = (
            _KINDS.get(mujoco.mjtGeom(model.geom_type[k])),
            int(model.geom_bodyid[k]),
        )
        name = model.body(body).name
        hidden = int(model.geom_group[k]) != _VISIBLE or model.geom_rgba[k, 3] < 0.5
        if kind is None or body == 0 or hidden or name.startswith("box"):
            continue
        if body not in bodies:
            bodies.append(body)
        geom: Shape = {
            "type": kind,
            "colour": BONE if kind == "mesh" else SKIN,
            "body": bodies.index(body),
            "size": np.round(model.geom_size[k], 5).tolist(),
            "pos": np.round(model.geom_pos[k], 5).tolist(),
            "quat": np.round(model.geom_quat[k], 6).tolist(),
        }
        if kind == "mesh":
            geom |= _mesh(model, int(model.geom_dataid[k]))
        geoms.append(geom)
        if kind == "sphere":
            geoms.append(_spoke(model, k, bodies.index(body)))
    return bodies, geoms


def _spoke(model: mujoco.MjModel, geom: int, body: int) -> Shape:
    """Return a capsule from a body's origin to its contact sphere, to draw feet."""
    away = model.geom_pos[geom]
    length = float(np.linalg.norm(away))
    quat = np.array([1.0, 0.0, 0.0, 0.0])
    if length > 0.0:
        mujoco.mju_quatZ2Vec(quat, away / length)
    return {
        "type": "capsule",
        "colour": SKIN,
        "body": body,
        "size": [float(model.geom_size[geom, 0]), 0.5 * length],
        "pos": (0.5 * away).tolist(),
        "quat": quat.tolist(),
    }


def _mesh(model: mujoco.MjModel, mesh: int) -> dict[str, list[Any]]:
    first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    vertices: Floats = model.mesh_vert[first : first + count]
    first, count = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
    faces = model.mesh_face[first : first + count]
    return {
        "vertices": np.round(vertices, 4).ravel().tolist(),
        "faces": faces.ravel().tolist(),
    }
