"""What pages of walkers hold: recorded states of a body, and its policy as ONNX."""

from __future__ import annotations

import json
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
from ambulo.viz.page.muscle_paths import PATH_POINTS, muscle_paths
from ambulo.viz.page.walker_network import walker_network

_ENV = np.array([0])
_VISIBLE = 0
"""Group of the geoms that are drawn; others are for contacts and muscles."""
_KINDS = {
    mujoco.mjtGeom.mjGEOM_CAPSULE: "capsule",
    mujoco.mjtGeom.mjGEOM_SPHERE: "sphere",
    mujoco.mjtGeom.mjGEOM_BOX: "box",
    mujoco.mjtGeom.mjGEOM_MESH: "mesh",
}


@dataclass(frozen=True)
class Scene:
    """One recording."""

    name: str
    about: str
    """What is seen, one sentence."""
    seconds: float
    orders: tuple[tuple[float, float, float, float], ...] = ()
    """From which time on, [s], which speed ahead, [m/s], turning rate, [deg/s], and speed to
    the left, [m/s], is commanded."""
    push: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Time, [s], and impulse along X and Y, [N s]."""


WALKER_SCENES = (
    Scene("Walk and stop", "It starts from standing, walks at 1 m/s, and stops.", 11.0,
          ((0.0, 0.0, 0.0, 0.0), (0.7, 1.0, 0.0, 0.0), (7.0, 0.0, 0.0, 0.0))),
    Scene("Walk a curve", "It walks at 0.7 m/s and turns by 50 degrees a second.", 10.0,
          ((0.0, 0.7, 50.0, 0.0),)),
    Scene("Turn on the spot", "It turns on the spot, left, then right.", 10.0,
          ((0.0, 0.0, 90.0, 0.0), (5.0, 0.0, -90.0, 0.0))),
    Scene("Side-steps", "It steps to the left, then to the right.", 10.0,
          ((0.0, 0.0, 0.0, 0.25), (5.0, 0.0, 0.0, -0.25))),
    Scene("Backwards", "It steps backwards at 0.2 m/s.", 8.0, ((0.0, -0.2, 0.0, 0.0),)),
    Scene("Fast", "It walks at 1.6 m/s.", 9.0, ((0.0, 1.6, 0.0, 0.0),)),
    Scene("Pushed while standing", "It is pushed by 20 N s from behind, and steps.", 8.0,
          ((0.0, 0.0, 0.0, 0.0),), (2.5, 20.0, 0.0)),
)  # fmt: skip
"""What the walker does on its page."""

MUSCLE_SCENES = (
    Scene("Walk", "It walks at about 1 m/s by its muscles.", 8.0),
    Scene("Pushed", "It is pushed by 5 N s from the side after 2.5 s.", 8.0,
          push=(2.5, 0.0, 5.0)),
)  # fmt: skip
"""What the muscle walker does on its page."""


def walker_data(model: str) -> dict[str, bytes]:
    """Return the recordings of `WALKER_SCENES` and the policy `model`."""
    picture = "A simulated body that walks on a grid of one metre"
    return _data(model, WALKER_SCENES, picture)


def muscle_data(model: str) -> dict[str, bytes]:
    """Return the recordings of `MUSCLE_SCENES` and the policy `model`."""
    picture = "Legs with their bones and muscles that walk on a grid of one metre"
    return _data(model, MUSCLE_SCENES, picture)


def _data(model: str, scenes: Sequence[Scene], picture: str) -> dict[str, bytes]:
    agent = load_walker(find_model(model))
    batch = standing_batch(agent)
    bodies, geoms = drawn_geoms(batch.simulation.model)
    muscles = "muscles" if batch.simulation.model.ntendon else None
    rows: dict[str, list[Any]] = {name: [] for name in _names(muscles is not None)}
    spans = []
    for scene in scenes:
        first = len(rows["actions"])
        record(batch, agent, scene, bodies, rows)
        count = len(rows["actions"]) - first
        spans.append(
            {"name": scene.name, "about": scene.about, "first": first, "count": count}
        )
    arrays = {
        name: np.array(values, "<i2" if name == "paths" else "<f4").reshape(
            len(values), -1
        )
        for name, values in rows.items()
    }
    sim = batch.simulation.model
    header = {
        "picture": picture, "dt": batch.simulation.dt, "bodies": len(bodies), "root": 0,
        "geoms": geoms, "scenes": spans, "mujoco": mujoco.__version__,
        "action_names": list(agent.metadata.actions),
        "widths": {name: array.shape[1] for name, array in arrays.items()},
        "path_points": PATH_POINTS,
        "muscles": [sim.tendon(k).name for k in range(sim.ntendon)],
    }  # fmt: skip
    if muscles is None:
        header["muscles"] = None
    data = {"walker.header": json.dumps(header).encode()}
    data |= {f"walker.{name}": array.tobytes() for name, array in arrays.items()}
    data |= walker_network(agent)
    return data


def _names(muscles: bool) -> tuple[str, ...]:
    names = ("poses", "observations", "actions", "speeds")
    return (*names, "paths", "activations") if muscles else names


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
    batch: Any,
    agent: LocomotionAgent,
    scene: Scene,
    bodies: Sequence[int],
    rows: dict[str, list[Any]],
) -> None:
    """Append the frames of one scene to `rows`.

    Raises:
        PageError: the body falls.
    """
    sim = batch.simulation
    places, turns = sim.bind("xpos"), sim.bind("xquat")
    data = mujoco.MjData(sim.model)
    obs = batch.reset(_ENV)
    orders = list(scene.orders)
    for frame in range(round(scene.seconds / sim.dt)):
        now = frame * sim.dt
        while orders and orders[0][0] <= now:
            _, speed, turn, side = orders.pop(0)
            batch.set_command(
                _ENV, np.array([speed]), np.deg2rad([turn]), np.array([side])
            )
        _push(batch, scene, now)
        action = agent.act(obs)
        poses = np.concatenate([places[0, bodies], turns[0, bodies]], axis=1)
        rows["poses"].append(poses.ravel().copy())
        rows["observations"].append(obs[0].copy())
        rows["actions"].append(action[0].copy())
        rows["speeds"].append(np.hypot(*batch.state.heading[0, :2]))
        if "paths" in rows:
            sim.copy_data(0, data)
            rows["paths"].append(muscle_paths(sim.model, data, places[0, bodies[0]]))
            rows["activations"].append(data.act.copy())
        obs, _, terminated, _, _ = batch.step(action)
        if terminated[0]:
            raise PageError(f"scene {scene.name!r}: the body fell after {now:.1f} s")


def _push(batch: Any, scene: Scene, now: float) -> None:
    """Push the body for one control step, when it is time."""
    time, x, y = scene.push
    dt, root = batch.simulation.dt, batch._pelvis
    acts = (x or y) and time <= now < time + dt - 1e-9
    batch.simulation.push[0, root, :2] = (x / dt, y / dt) if acts else (0.0, 0.0)


def drawn_geoms(model: mujoco.MjModel) -> tuple[list[int], list[dict[str, Any]]]:
    """Return the bodies that are drawn, the root first, and their geoms as JSON data."""
    bodies: list[int] = []
    geoms = []
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
        geom: dict[str, Any] = {
            "type": kind,
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


def _spoke(model: mujoco.MjModel, geom: int, body: int) -> dict[str, Any]:
    """Return a capsule from a body's origin to its contact sphere: feet have a shape."""
    away = model.geom_pos[geom]
    length = float(np.linalg.norm(away))
    quat = np.array([1.0, 0.0, 0.0, 0.0])
    if length > 0.0:
        mujoco.mju_quatZ2Vec(quat, away / length)
    return {
        "type": "capsule",
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
