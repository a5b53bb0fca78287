"""Poses of a simulated body on the engine's skeleton, as films show them."""

from __future__ import annotations

import mujoco
import numpy as np

from ambulo.envs.characters.registry import load_character
from ambulo.envs.godot.client import GodotClient
from ambulo.envs.godot.engine import EngineProcess
from ambulo.envs.vr.levels.level import Level
from ambulo.evaluate.vr.reel import Reel

BONES = 1e-3
"""Largest distance of a bone from MuJoCo's body, [m]."""
POSES = 12


def test_bones_stand_where_the_simulated_body_is(engine: EngineProcess) -> None:
    """Random poses in random places, all joints bent."""
    character = load_character("human23")
    model, rng = character.model, np.random.default_rng(4)
    data, qpos = mujoco.MjData(model), np.empty((POSES, model.nq))
    for row in qpos:
        row[:] = model.qpos0
        step = rng.normal(scale=0.4, size=model.nv)
        step[:2] *= 10.0
        mujoco.mj_integratePos(model, row, step, 1.0)
    reel = Reel(
        Level("one", np.array([-9.0, -9.0, 9.0, 9.0])), 30.0, np.zeros((POSES, 4)), {},
        character, qpos,
    )  # fmt: skip
    rows = reel.body_rows()
    assert rows is not None
    client = GodotClient(f"http://127.0.0.1:{engine.port}")
    for row, pose in zip(rows, qpos, strict=True):
        client.show_bodies([0], row[None, :3], row[None, 3:].reshape(1, 23, 4))
        shown = client.body(0)
        data.qpos[:] = pose
        mujoco.mj_kinematics(model, data)
        places = np.array([data.body(name).xpos for name in shown["joints"]])
        apart = np.linalg.norm(np.array(shown["positions"]) - places, axis=1)
        assert apart.max() < BONES
    client.close()
