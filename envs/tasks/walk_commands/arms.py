"""Led arms: hands that reach for points in the world, whatever the legs do.

At every control step the arm is solved in closed form from the present shoulder
(`ik.avatar.limbs`); the elbow points as a prior says. Joint targets turn at a limited rate, and
an integrator corrects the sag under the arm's weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numba import njit

from ambulo.configs.arrays import Array, Bools, Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.body import body_of_joint
from ambulo.envs.simulation.frames import along_heading
from ambulo.envs.state_arrays import NamedState
from ambulo.ik.avatar.limbs import solve_arm
from ambulo.motion.quaternion_kernels import nlerp, rotate
from ambulo.motion.roles import SIDES, roles_of

if TYPE_CHECKING:
    from ambulo.envs.simulation.simulation import CharacterSimulation

PALM = 0.08
"""From the wrist to the centre of the palm, [m]."""
RATE = 1.5
"""Largest turning rate of an arm's joint targets, [rad/s]."""
SAG = (1.5, 0.12)
"""Fraction of a hand's error that the integrator corrects per second, and its largest
correction, [m]."""
BACK = 0.02
"""Angle to the gait's arm below which an arm on its way back follows the gait again, [rad]."""
POLE = (-0.4, 0.4, -1.0)
"""Direction of the left elbow without a prior: ahead, to the left, up."""
ARM = 0.75
"""A standing body crouches for a point nearer than this to its shoulder, horizontally, [m]."""
PARTS = ("upper_arm", "forearm", "hand")
"""Joints of an arm that are solved."""
TURNED = len(PARTS)

Elbows = Callable[[Ints, Floats], Floats]
"""World directions of both elbows, (k, 2, 3), of bodies (k,) whose hands are at (k, 2, 3)."""


class Arms(NamedState):
    """Joints and bodies of both arms of N bodies."""

    def __init__(self, character: Character, simulation: CharacterSimulation) -> None:
        """Look up joints and bodies."""
        roles, model = roles_of(character.skeleton), character.model
        self._model = model
        names = character.skeleton.joints
        joints = [[roles[f"{side}_{part}"] for part in PARTS] for side in SIDES]
        self._clavicles = np.array([roles[f"{side}_clavicle"] for side in SIDES])
        self._offsets = character.skeleton.offsets.copy()
        named = [[model.joint(names[j]) for j in arm] for arm in joints]
        self._columns = np.array([[int(j.qposadr[0]) for j in arm] for arm in named])
        dofs = [[int(j.dofadr[0]) for j in arm] for arm in named]
        self.dofs: Ints = np.array([np.arange(arm[0], arm[-1] + 3) for arm in dofs])
        """Degrees of freedom of each arm. Shape (2, 7)."""
        self._bodies = np.array(
            [
                [body_of_joint(character, j) for j in (clavicle, *arm)]
                for clavicle, arm in zip(self._clavicles, joints, strict=True)
            ]
        )
        self._places: Floats = simulation.bind("xpos")
        self._turns: Floats = simulation.bind("xquat")
        bones = [joints[0][1], joints[0][2]]
        self.reach = float(np.abs(self._offsets[bones, 1]).sum())
        """Length of an arm without its hand, [m]."""

    def put(self, side: int, envs: Ints, turn: Floats, qpos: Floats) -> None:
        """Write local rotations (k, 3, 4) of an arm into rows `envs` (k,) of positions."""
        upper, fore, hand = self._columns[side]
        qpos[envs[:, None], np.arange(upper, upper + 4)] = turn[:, 0]
        qpos[envs, fore] = 2.0 * np.arctan2(turn[:, 1, 3], turn[:, 1, 0])
        qpos[envs[:, None], np.arange(hand, hand + 4)] = turn[:, 2]


class LedArms(Arms):
    """Both arms of N bodies: which are led, their goals, and their joint rotations."""

    def __init__(self, character: Character, simulation: CharacterSimulation) -> None:
        """Start with no arm led."""
        super().__init__(character, simulation)
        self._centres: Floats = simulation.bind("xipos")
        mass = character.model.body_mass
        self._weights = mass[self._bodies[:, 1:].ravel()] / mass[1:].sum()
        count = len(self._places)
        self.goal: Floats = np.zeros((count, 2, 3))
        """Points that the palms go to, in the world, [m]. Shape (N, 2, 3)."""
        self.led: Bools = np.zeros((count, 2), np.bool_)
        """Which arms are led, left and right. Shape (N, 2)."""
        self.away: Bools = np.zeros((count, 2), np.bool_)
        """Mask of the arms off the gait: led ones, and those on their way back. (N, 2)."""
        self.moving: Bools = np.zeros((count, 2), np.bool_)
        """Mask of those that have not reached their target rotations. Shape (N, 2)."""
        self.turn: Floats = np.zeros((count, 2, TURNED, 4))
        """Local rotations of upper arm, forearm and hand of those. Shape (N, 2, 3, 4)."""
        self.sag: Floats = np.zeros((count, 2, 3))
        """Integrated correction of the goals, [m]. Shape (N, 2, 3)."""
        self.missed: Floats = np.zeros((count, 2))
        """How far a goal is beyond the arm, [m]. Shape (N, 2)."""
        self.overhang: Floats = np.zeros((count, 2))
        """How far arms that are away from their gait move the body's centre of mass ahead and
        to the left, [m]. Shape (N, 2)."""

    saved = ("goal", "led", "away", "moving", "turn", "sag", "missed", "overhang")

    @property
    def columns(self) -> list[Ints]:
        """Columns of `qpos` of each arm."""
        return [np.arange(arm[0], arm[-1] + 4) for arm in self._columns]

    def clear(self, envs: Ints) -> None:
        """Let both arms of `envs` (k,) follow the gait."""
        for name in self.saved:
            getattr(self, name)[envs] = 0

    def shoulders(self) -> Floats:
        """World positions of the upper arms' joints, [m]. Shape (N, 2, 3)."""
        return np.asarray(self._places[:, self._bodies[:, 1]])

    def palms(self) -> Floats:
        """World positions of the palms, [m]. Shape (N, 2, 3)."""
        hands = self._bodies[:, 3]
        out = np.empty((len(self._places), 2, 3))
        _palms(self._places[:, hands], self._turns[:, hands], out)
        return out

    def advance(
        self,
        ready: Bools,
        own: Floats,
        yaw: Floats,
        dt: float,
        elbows: Elbows | None = None,
    ) -> None:
        """Advance the arms by one control step.

        Args:
            ready: Mask of bodies whose arms may be led; others return to the gait. Shape (N,).
            own: Positions of the gait, to which arms return. Shape (N, nq).
            yaw: Headings of the bodies, [rad]. Shape (N,).
            dt: Control step, [s].
            elbows: The prior; None: elbows point down, outwards and back.
        """
        led = self.led & ready[:, None]
        active = np.flatnonzero((led | self.away).any(axis=1))
        self.overhang[:] = 0.0
        if not len(active):
            return
        self.overhang[active] = self._overhang(active, yaw[active])
        poles = np.empty((len(active), 2, 3))
        c, s = np.cos(yaw[active]), np.sin(yaw[active])
        for side, sign in enumerate((1.0, -1.0)):
            ahead, left, up = POLE[0], sign * POLE[1], POLE[2]
            poles[:, side] = np.stack(
                [c * ahead - s * left, s * ahead + c * left, np.full_like(c, up)],
                axis=1,
            )
        if elbows is not None:
            hands = np.where(
                led[active, :, None], self.goal[active], self.palms()[active]
            )
            known = elbows(active, hands)
            poles = np.where(led[active, :, None], known, poles)
        _advance(
            active, self._clavicles, self._bodies, self._columns, self._offsets,
            self._places, self._turns, poles, own, dt, self.goal, led, self.away,
            self.moving, self.turn, self.sag, self.missed,
        )  # fmt: skip

    def _overhang(self, envs: Ints, yaw: Floats) -> Floats:
        """Leverage of the arms of `envs` (k,) with headings `yaw` (k,), [rad]. (k, 2)."""
        return self._leverage(self._centres[envs], self._places[envs], yaw)

    def _leverage(self, centres: Floats, places: Floats, yaw: Floats) -> Floats:
        """Shift of the body's centre of mass by the arms, ahead and to the left, [m]. (k, 2).

        Args:
            centres: Centres of mass of all bodies, [m]. Shape (k, nbody, 3).
            places: Origins of the MuJoCo bodies, [m]. Shape (k, nbody, 3).
            yaw: Headings, [rad]. Shape (k,).
        """
        arms = self._bodies[:, 1:].ravel()
        shoulders = np.repeat(self._bodies[:, 1], TURNED)
        away = centres[:, arms] - places[:, shoulders]
        return along_heading(np.einsum("b,kbi->ki", self._weights, away), yaw)

    def hanging(self, qpos: Floats) -> Floats:
        """Leverage of both arms in postures (k, nq) that head along X. Shape (k, 2), [m]."""
        data = mujoco.MjData(self._model)
        centres, places = np.empty((2, len(qpos), self._model.nbody, 3))
        for row, posture in enumerate(qpos):
            data.qpos[:] = posture
            mujoco.mj_kinematics(self._model, data)
            centres[row], places[row] = data.xipos, data.xpos
        return self._leverage(centres, places, np.zeros(len(qpos)))

    def bend(self, qpos: Floats, qvel: Floats) -> None:
        """Write the arms into positions (N, nq) and velocities (N, nv), in place."""
        for side in range(2):
            envs = np.flatnonzero(self.away[:, side])
            if len(envs):
                self.put(side, envs, self.turn[envs, side], qpos)
                qvel[envs[:, None], self.dofs[side]] = 0.0


def nearer_hand(shoulders: Floats, points: Floats) -> Ints:
    """Side (0 left, 1 right) of the shoulder (k, 2, 3) nearer to points (k, 3). (k,)."""
    away = np.linalg.norm(shoulders - points[:, None], axis=2)
    return np.asarray(np.argmin(away, axis=1))


@njit(cache=True)
def _palm(wrist: Array, turn: Array, sign: float, out: Array) -> None:
    """Fill `out` (3,) with the palm of a hand of orientation `turn` (4,)."""
    along = np.array([0.0, sign * PALM, 0.0])
    rotate(turn, along, out)
    for i in range(3):
        out[i] += wrist[i]


@njit(cache=True)
def _palms(wrists: Array, turns: Array, out: Array) -> None:
    """Fill `out` (N, 2, 3) with the palms of hands of orientations (N, 2, 4)."""
    for b in range(len(out)):
        for side in range(2):
            sign = 1.0 if side == 0 else -1.0
            _palm(wrists[b, side], turns[b, side], sign, out[b, side])


@njit(cache=True)
def _advance(
    active: Array, clavicles: Array, bodies: Array, columns: Array, offsets: Array,
    places: Array, turns: Array, poles: Array, own: Array, dt: float, goals: Array,
    led: Array, away: Array, moving: Array, turn: Array, sag: Array, missed: Array,
) -> None:  # fmt: skip
    """See `LedArms.advance`; `active` (k,) are the bodies with an arm off the gait."""
    world, local = np.zeros((len(offsets), 4)), np.zeros((len(offsets), 4))
    wrist, palm, aim = np.empty(3), np.empty(3), np.empty((TURNED, 4))
    for row in range(len(active)):
        b = active[row]
        for side in range(2):
            if not (led[b, side] or away[b, side]):
                continue
            sign = 1.0 if side == 0 else -1.0
            clavicle, own_bodies = clavicles[side], bodies[side]
            if not away[b, side]:
                away[b, side] = True
                gait_arm(own[b], columns[side], turn[b, side])
            if led[b, side]:
                hand = turns[b, own_bodies[3]]
                _palm(places[b, own_bodies[3]], hand, sign, palm)
                waits = 0.0 if moving[b, side] else dt
                missed[b, side] = _wrist_for(
                    goals[b, side],
                    palm,
                    places[b, own_bodies[1]],
                    waits,
                    sag[b, side],
                    wrist,
                )
                for i in range(4):
                    world[clavicle, i] = turns[b, own_bodies[0], i]
                arm = abs(offsets[clavicle + 2, 1]) + abs(offsets[clavicle + 3, 1])
                missed[b, side] = max(missed[b, side] - arm, 0.0)
                solve_arm(
                    clavicle, sign, places[b, own_bodies[1]].copy(), wrist,
                    poles[row, side], hand, offsets, world, local,
                )  # fmt: skip
                for i in range(4):
                    aim[0, i] = local[clavicle + 1, i]
                    aim[1, i] = local[clavicle + 2, i]
                aim[2, 0], aim[2, 1], aim[2, 2], aim[2, 3] = 1.0, 0.0, 0.0, 0.0
            else:
                sag[b, side], missed[b, side] = 0.0, 0.0
                gait_arm(own[b], columns[side], aim)
            near = _turn_towards(turn[b, side], aim, RATE * dt)
            moving[b, side] = not near
            if near and not led[b, side]:
                away[b, side] = False


@njit(cache=True)
def _wrist_for(
    goal: Array, palm: Array, shoulder: Array, dt: float, sag: Array, out: Array
) -> float:
    """Fill `out` (3,) with the wrist whose palm is at `goal`; advance `sag`.

    Returns the distance of that wrist from the shoulder, [m].
    """
    far = 1e-6
    for i in range(3):
        more = sag[i] + SAG[0] * dt * (goal[i] - palm[i])
        sag[i] = min(max(more, -SAG[1]), SAG[1])
        far += (goal[i] - shoulder[i]) ** 2
    far = math.sqrt(far)
    for i in range(3):
        out[i] = goal[i] - PALM / far * (goal[i] - shoulder[i]) + sag[i]
    return far - PALM


@njit(cache=True)
def _turn_towards(turn: Array, aim: Array, most: float) -> bool:
    """Turn rotations (3, 4) to `aim` by at most `most`, [rad]; return whether they arrived."""
    near = True
    for part in range(len(turn)):
        dot = 0.0
        for i in range(4):
            dot += turn[part, i] * aim[part, i]
        angle = 2.0 * math.acos(min(abs(dot), 1.0))
        near = near and angle < BACK
        old = turn[part].copy()
        nlerp(old, aim[part], min(1.0, most / max(angle, 1e-9)), turn[part])
    return near


@njit(cache=True)
def gait_arm(q: Array, columns: Array, out: Array) -> None:
    """Fill local rotations (3, 4) of an arm from positions (nq,)."""
    upper, fore, hand = columns
    for i in range(4):
        out[0, i], out[2, i] = q[upper + i], q[hand + i]
    half = 0.5 * q[fore]
    out[1, 0], out[1, 1], out[1, 2], out[1, 3] = (
        math.cos(half),
        0.0,
        0.0,
        math.sin(half),
    )
