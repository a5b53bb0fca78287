"""A human23 gait cycle as positions of myolegs, by inverse kinematics.

Ankles follow the captured ankles, scaled by leg length; feet, toes and thighs turn as the
captured ones. The pelvis keeps its captured yaw and roll; its pitch swings about that of an
upright trunk, since the trunk of myolegs is rigid.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.myo import lowest_point, sole_balls
from ambulo.motion.gaits.cycle import Cycle, resynthesized
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_rotvec,
    quat_multiply,
    quat_normalize,
    quat_rotate,
    quat_to_matrix,
    quat_to_rotvec,
)
from ambulo.muscle.coupling import joint_coupling

PHASES = 256
"""Samples of the fitted cycle."""
TRUNK_PITCH = np.deg2rad(2.0)
"""Mean forward lean of the trunk, [rad]; about that of a captured chest."""
PITCH_SHARE = 0.5
"""Share of the pelvis' pitching that is kept; a whole trunk rides on it here."""
CROUCH = 0.012
"""How much lower the hips are than the leg's length says, [m]; no knee is locked."""
ANKLE_WEIGHT, FOOT_WEIGHT, THIGH_WEIGHT, TOE_WEIGHT = 30.0, 1.5, 0.3, 0.3
"""Costs of the ankle's place, [1/m], and of turns of foot, thigh and toes, [1/rad]."""
REST_WEIGHT = 0.02
"""Cost of a joint angle, [1/rad]."""
JOINT_HARMONICS = 7
"""Harmonics of the joint angles that are kept."""


@dataclass(frozen=True, eq=False)
class PoseCycle:
    """A gait cycle as MuJoCo positions at N equal phases."""

    period: float
    """Duration, [s]."""
    stride: Floats
    """How far the root moves in one cycle, [m]. Shape (3,)."""
    qpos: Floats
    """Positions. Shape (N, nq)."""


def symmetric(cycle: Cycle) -> Cycle:
    """The mean of a human23 cycle and its mirror image half a cycle later."""
    names = cycle.skeleton.joints
    swap = {"L": "R", "R": "L"}
    other = [
        names.index(twin) if (twin := n[:-1] + swap.get(n[-1], "")) in names else i
        for i, n in enumerate(names)
    ]
    half = len(cycle) // 2
    root = cycle.root_positions - cycle.progress
    root = root - [0.0, root[:, 1].mean(), 0.0]
    there = np.roll(root, half, axis=0) * [1.0, -1.0, 1.0]
    # Mirrored at y = 0, a rotation keeps its w and y.
    mirror = np.array([1.0, -1.0, 1.0, -1.0])
    turned = np.roll(cycle.rotations, half, axis=0)[:, other] * mirror
    sign = np.sign((turned * cycle.rotations).sum(axis=-1, keepdims=True))
    turned = cycle.rotations + np.where(sign < 0, -1.0, 1.0) * turned
    return replace(
        cycle,
        root_positions=0.5 * (root + there) + cycle.progress,
        rotations=quat_normalize(turned),
    )


def fitted_poses(cycle: Cycle, character: Character) -> PoseCycle:
    """Positions of `character` (myolegs) that walk as the human23 `cycle` does.

    Slips and lifts of a millimetre or two remain; `ambulo.envs.reference.refine` takes
    them out.
    """
    every = len(cycle) // PHASES
    places, turns = cycle.kinematics()
    places, turns = places[::every], turns[::every]
    legs = _Legs(character)
    index = cycle.skeleton.index
    captured = sum(
        np.linalg.norm(cycle.skeleton.offsets[index(n)]) for n in ("TibiaR", "TalusR")
    )
    scale = legs.length / float(captured)
    root_turns = _pelvis(turns[:, 0])
    hips = 0.5 * (places[:, index("FemurR")] + places[:, index("FemurL")]) * scale
    middle = np.tile(legs.hips, (PHASES, 1))
    root = hips - quat_rotate(root_turns, middle) - [0.0, 0.0, CROUCH]
    goals = [
        _Goal(
            _planted(places[:, index(f"Talus{s.upper()}")] * scale, legs.ankle_height),
            turns[:, index(f"Talus{s.upper()}")],
            turns[:, index(f"Femur{s.upper()}")],
            turns[:, index(f"FootThumb{s.upper()}")],
        )
        for s in "rl"
    ]
    qpos = legs.follow(root, root_turns, goals)
    return PoseCycle(cycle.period, cycle.stride * scale, qpos)


@dataclass(frozen=True, eq=False)
class _Goal:
    """Where one leg should be, phase after phase."""

    ankle: Floats
    foot: Floats
    thigh: Floats
    toes: Floats


class _Legs:
    """Inverse kinematics of both legs of myolegs."""

    def __init__(self, character: Character) -> None:
        self.model = model = character.model
        self.data = data = mujoco.MjData(model)
        self.coupling = joint_coupling(model)
        mujoco.mj_kinematics(model, data)
        names = ("femur", "talus", "calcn", "toes")
        self.bodies = {n + s: model.body(f"{n}_{s}").id for n in names for s in "rl"}
        self.rest = {n: data.xquat[b].copy() for n, b in self.bodies.items()}
        joints = model.dof_jntid[self.coupling.independent[self.coupling.actuated]]
        self.address: Ints = model.jnt_qposadr[joints]
        self.low, self.high = model.jnt_range[joints].T
        self.knees = np.array(
            ["knee" in model.joint(int(j)).name for j in joints], dtype=bool
        )
        place = {n: data.xpos[b].copy() for n, b in self.bodies.items()}
        self.hips = 0.5 * (place["femurr"] + place["femurl"]) - data.xpos[1]
        knee = data.xpos[model.body("tibia_r").id]
        self.length = float(
            np.linalg.norm(knee - place["femurr"])
            + np.linalg.norm(place["talusr"] - knee)
        )
        lowest = lowest_point(data, sole_balls(model))
        self.ankle_height = float(place["talusr"][2] - lowest)

    def follow(self, root: Floats, turns: Floats, goals: list[_Goal]) -> Floats:
        """Qpos (N, nq) for roots (N, 3), (N, 4) and the goals of right and left leg."""
        out = np.zeros((len(root), self.model.nq))
        qpos = self.model.qpos0.copy()
        for t in range(-8, len(root)):  # the start is at the end of the cycle
            qpos[:3], qpos[3:7] = root[t], turns[t]
            for _ in range(12 if t < -6 else 4):
                self._improve(qpos, goals, t)
            if t >= 0:
                out[t] = qpos
        angles = resynthesized(out[:, self.address], JOINT_HARMONICS, len(out))
        out[:, self.address] = np.where(self.knees, np.maximum(angles, 0.03), angles)
        return self.coupling.closed(out)

    def _improve(self, qpos: Floats, goals: list[_Goal], t: int) -> None:
        """One damped Gauss-Newton step of `qpos` (nq,) at phase t."""
        model, data = self.model, self.data
        qpos[:] = self.coupling.closed(qpos)
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        tied = self.coupling.matrix(qpos[None])[0][:, self.coupling.actuated]
        rows, errors = [], []
        place, turn = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        for side, goal in zip("rl", goals, strict=True):
            ankle = self.bodies["talus" + side]
            mujoco.mj_jacBody(model, data, place, turn, ankle)
            rows.append(ANKLE_WEIGHT * place @ tied)
            errors.append(ANKLE_WEIGHT * (goal.ankle[t] - data.xpos[ankle]))
            for name, wanted, weight in (
                ("calcn", goal.foot, FOOT_WEIGHT),
                ("femur", goal.thigh, THIGH_WEIGHT),
                ("toes", goal.toes, TOE_WEIGHT),
            ):
                body = self.bodies[name + side]
                mujoco.mj_jacBody(model, data, place, turn, body)
                target = quat_multiply(wanted[t], self.rest[name + side])
                gap = quat_multiply(target, quat_conjugate(data.xquat[body]))
                rows.append(weight * turn @ tied)
                errors.append(weight * quat_to_rotvec(gap))
        now = qpos[self.address]
        matrix, error = np.concatenate(rows), np.concatenate(errors)
        normal = matrix.T @ matrix + REST_WEIGHT**2 * np.eye(len(now))
        step = np.linalg.solve(normal, matrix.T @ error - REST_WEIGHT**2 * now)
        moved = now + np.clip(step, -0.3, 0.3)
        qpos[self.address] = np.clip(moved, self.low + 0.02, self.high - 0.05)


def _pelvis(turns: Floats) -> Floats:
    """Root orientations (N, 4): yaw and roll about their means, pitch as of a trunk."""
    m = quat_to_matrix(turns)
    pitch = np.arcsin(-m[:, 2, 0])
    roll = np.arctan2(m[:, 2, 1], m[:, 2, 2])
    yaw = np.arctan2(m[:, 1, 0], m[:, 0, 0])
    pitch = TRUNK_PITCH + PITCH_SHARE * (pitch - pitch.mean())
    about = np.eye(3)
    q = quat_from_rotvec((yaw - yaw.mean())[:, None] * about[2])
    for angle, axis in ((pitch, about[1]), (roll - roll.mean(), about[0])):
        q = quat_multiply(q, quat_from_rotvec(angle[:, None] * axis))
    return np.asarray(q)


def _planted(ankle: Floats, height: float) -> Floats:
    """Ankle places (N, 3) shifted so that in stance they are `height` over the ground."""
    speed = np.linalg.norm(np.gradient(ankle, axis=0), axis=1)
    slow = np.argsort(speed)[: len(ankle) // 5]
    shift = height - np.median(ankle[slow, 2]) - 0.001
    return ankle + np.array([0.0, 0.0, shift])
