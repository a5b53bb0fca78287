"""The avatar in the engine against Python, and its bones against MuJoCo."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from fixtures.policy_replay import Godot, run_jobs

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.registry import load_character
from ambulo.envs.godot.client import GodotClient
from ambulo.envs.godot.engine import EngineProcess
from ambulo.envs.godot.protocol import poses_message
from ambulo.envs.godot.transport import BINARY, HttpConnection
from ambulo.envs.vr.levels.level import Level
from ambulo.evaluate.vr.reel import Reel
from ambulo.ik.avatar.pose import AvatarFrame, AvatarPose
from ambulo.motion.rotations import quat_from_rotvec
from ambulo.policies.agents.avatar import load_avatar

TOLERANCE = 1e-4
"""Largest difference between Python and the engine, [m], and in quaternions."""
BONES = 1e-3
"""Largest distance of a bone from MuJoCo's body, [m]."""
POSES = 12
CHARACTER = "res://policies/vr_navigation_body.ambulo"
RATE = 90.0


def player(seed: int, steps: int) -> Floats:
    """Rows of the probe's input of a player who wanders, stops and looks around."""
    rng = np.random.default_rng(seed)
    place, moved, rows = np.zeros(3), np.zeros(3), np.zeros((steps, 26))
    command = np.zeros(3)
    for k in range(steps):
        if k % 60 == 0:
            command = rng.uniform([-0.8, -0.8, -1.5], [2.0, 0.8, 1.5]) * (
                rng.random() > 0.2
            )
        moved += (command - moved) * (1.0 - 0.3 ** (10.0 / RATE))
        place[2] += moved[2] / RATE
        c, s = np.cos(place[2]), np.sin(place[2])
        step = [c * moved[0] - s * moved[1], s * moved[0] + c * moved[1]]
        place[:2] += np.array(step) / RATE
        tilt = np.array([0.1 * np.sin(0.03 * k), 0.3 * np.sin(0.02 * k), 0.0])
        c, s = np.cos(0.5 * place[2]), np.sin(0.5 * place[2])
        a, b, d, e = quat_from_rotvec(tilt)
        gaze = [c * a - s * e, c * b - s * d, c * d + s * b, c * e + s * a]
        rows[k, :10] = [k == 0, 1.0 / RATE, 0.0, *place[:2], 1.55, *gaze]
        for hand, side in ((10, 1.0), (18, -1.0)):
            turn = quat_from_rotvec(np.array([0.2, 0.1, side]))
            left = [0.35 * np.cos(place[2]) - side * 0.2 * np.sin(place[2]),
                    0.35 * np.sin(place[2]) + side * 0.2 * np.cos(place[2])]  # fmt: skip
            rows[k, hand] = k % 200 > 100
            rows[k, hand + 1 : hand + 8] = [
                place[0] + left[0], place[1] + left[1], 1.1, *turn
            ]  # fmt: skip
    return rows


def followed(avatar: AvatarPose, rows: Floats) -> Floats:
    """Positions (T, 69) and local rotations (T, 92) of an avatar in Python, as the probe's."""
    avatar.reset()
    out = []
    for row in rows:
        hands = [row[at + 1 : at + 8] if row[at] else None for at in (10, 18)]
        frame = avatar.step(
            row[3:6], row[6:10], row[1], ground=row[2], hands=(hands[0], hands[1])
        )
        out.append(np.concatenate([frame.positions.ravel(), frame.rotations.ravel()]))
    return np.array(out)


@pytest.mark.parametrize("exact", [False, True])
def test_the_avatar_is_the_same_in_the_engine(
    godot: Godot, tmp_path: Path, exact: bool
) -> None:
    """10 s of a player's way: joints, rotations, and the bones that the engine shows."""
    avatar = load_avatar(prior=None, exact_head=exact)
    jobs, wanted = [], []
    for seed in range(2):
        rows = player(seed, 900)
        files = [tmp_path / f"{seed}.in", tmp_path / f"{seed}.out"]
        files[0].write_bytes(rows.astype("<f8").tobytes())
        names = {"input": str(files[0]), "output": str(files[1])}
        jobs.append({"character": CHARACTER, "exact": exact, **names})
        wanted.append(followed(avatar, rows))
    run_jobs(godot, "avatar_probe", jobs, tmp_path)
    for job, want in zip(jobs, wanted, strict=True):
        got = np.fromfile(job["output"], "<f8").reshape(len(want), -1)
        np.testing.assert_allclose(got[:, :69], want[:, :69], atol=TOLERANCE, rtol=0)
        np.testing.assert_allclose(got[:, 161:], want[:, :69], atol=TOLERANCE, rtol=0)
        turns = got[:, 69:161].reshape(-1, 23, 4)
        there = want[:, 69:].reshape(-1, 23, 4)
        same = np.abs(np.sum(turns * there, axis=-1))
        assert (1.0 - same).max() < TOLERANCE
        assert np.ptp(want[:, 0]) > 1.0


def mujoco_positions(frame: AvatarFrame) -> Floats:
    """World positions (23, 3) of human23's bodies in MuJoCo in a pose."""
    character = load_character("human23")
    model = character.model
    data = mujoco.MjData(model)
    data.qpos[:3] = frame.root
    for j, name in enumerate(character.skeleton.joints):
        joint = model.joint(name)
        at, q = int(joint.qposadr[0]), frame.rotations[j]
        if joint.type[0] == mujoco.mjtJoint.mjJNT_FREE:
            data.qpos[at + 3 : at + 7] = q
        elif joint.type[0] == mujoco.mjtJoint.mjJNT_BALL:
            data.qpos[at : at + 4] = q
        else:
            data.qpos[at] = 2.0 * np.arctan2(q[1:] @ joint.axis, q[0])
    mujoco.mj_kinematics(model, data)
    return np.array([data.body(name).xpos for name in character.skeleton.joints])


def test_streamed_bones_stand_where_mujoco_has_them(engine: EngineProcess) -> None:
    """A walk, streamed pose by pose in both forms, within a millimetre."""
    avatar = load_avatar()
    client = GodotClient(f"http://127.0.0.1:{engine.port}")
    wire = HttpConnection("127.0.0.1", engine.port, timeout=30.0)
    worst = 0.0
    for k, row in enumerate(player(3, 240)):
        frame = avatar.step(row[3:6], row[6:10], row[1])
        if k % 8:
            continue
        if k % 16:
            answer = client.show_bodies([0], frame.root[None], frame.rotations[None])
            assert answer == {"bodies": [0]}
        else:
            message = poses_message([0], frame.root[None], frame.rotations[None])
            reply = wire.request("POST", "/body", message, content_type=BINARY)
            assert reply.checked().json() == {"bodies": [0]}
        shown = client.body(0)
        assert shown["joints"] == list(avatar.skeleton.joints)
        apart = np.array(shown["positions"]) - mujoco_positions(frame)
        worst = max(worst, float(np.linalg.norm(apart, axis=1).max()))
    assert worst < BONES
    wire.close()
    client.close()


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
