"""Compiled inverse kinematics of two legs: hip, knee and ankle to a place of the foot."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array, Floats, Ints
from ambulo.motion.quaternion_kernels import (
    Quaternion,
    about_axis,
    logarithm,
    multiply,
    multiply_inverse,
    product,
    rotate,
    rotated,
    turn,
)
from ambulo.motion.retargeting.chains import eliminate

STRAIGHT = 0.9995
"""Longest leg over the length of its bones: a straight knee has no direction to bend in."""
ROUNDS, ENOUGH = 20, 1e-7
"""Most steps, and the largest angle of the last, [rad]."""
DAMPING, LARGEST = 1e-6, 0.3
"""Weight of a step's squared angles, beside 1 of squared errors over the leg's length, and its
largest angle, [rad]."""
TURN = 0.3
"""Weight of an angle that the foot misses, [rad], beside 1 of a distance in leg lengths."""


class Legs(NamedTuple):
    """Both legs of a body, left and right, of n joints each."""

    hips: Floats
    """In the root's frame, [m]. Shape (2, 3)."""
    bones: Floats
    """Lengths of thigh and shin, [m]. Shape (2, 2)."""
    at: Ints
    """First addresses of the joints in qpos. Shape (2, n)."""
    dofs: Ints
    """First addresses of the joints in qvel. Shape (2, n)."""
    kinds: Ints
    """1 of a hinge, 3 of a ball. Shape (2, n)."""
    offsets: Floats
    """Joints from their parents, [m]. Shape (2, n, 3)."""
    rest: Floats
    """Their orientations at rest in their parents' frames, wxyz. Shape (2, n, 4)."""
    axes: Floats
    """Axes of the hinges. Shape (2, n, 3)."""
    limits: Floats
    """Lowest and highest angles of the hinges, [rad]. Shape (2, n, 2)."""
    ankles: Ints
    """The joint that is the ankle, or the knee of a foot without one. Shape (2,)."""
    ends: Floats
    """The ankle, or the foot without one, in the frame of that joint, [m]. Shape (2, 3)."""
    turned: Floats
    """1 for axes of the world about which feet are turned, 0 for others. Shape (3,)."""
    level: Floats
    """Orientations of the last joints where feet are level and look along +X. Shape (2, 4)."""
    closed: bool
    """Whether they have a closed form: ball, hinge about Y, ball, bones downwards."""
    size: float
    """Lengths over those of human23; 1 for the suite's bodies, of whatever size."""
    width: float
    """Distance of the ankles from side to side in standing, [m]."""

    @property
    def pace(self) -> float:
        """Speeds and times of alike gaits over those of human23."""
        return math.sqrt(self.size)


@njit(cache=True)
def find_ankles(legs: Legs, qpos: Floats, out: Floats) -> None:
    """Write left and right ankle of positions (N, nq) to `out`, [m]. Shape (N, 2, 3)."""
    for b in range(len(qpos)):
        for leg in range(2):
            place, _ = foot_of(legs, leg, qpos[b])
            out[b, leg, 0], out[b, leg, 1], out[b, leg, 2] = place


@njit(cache=True)
def stand_over(legs: Legs, qpos: Floats, root: Floats, feet: Floats) -> None:
    """Move roots and feet of positions (N, nq) and solve the legs between them, in place.

    Args:
        legs: See `legs_of`.
        qpos: Positions. Shape (N, nq).
        root: How far roots go ahead and to the left, [m]. Shape (N, 2).
        feet: How far each foot goes ahead and to the left, [m], and turns left, [rad].
            Shape (N, 2, 3).
    """
    for b in range(len(qpos)):
        stood = (foot_of(legs, 0, qpos[b]), foot_of(legs, 1, qpos[b]))
        qpos[b, 0] += root[b, 0]
        qpos[b, 1] += root[b, 1]
        for leg in range(2):
            (x, y, z), foot = stood[leg]
            ahead, left, turn = feet[b, leg]
            c, s = math.cos(0.5 * turn), math.sin(0.5 * turn)
            turned = product(c, 0.0, 0.0, s, foot[0], foot[1], foot[2], foot[3])
            solve_leg(legs, leg, qpos[b], (x + ahead, y + left, z), turned, turn)


@njit(cache=True)
def foot_of(
    legs: Legs, leg: int, q: Floats
) -> tuple[tuple[float, float, float], Quaternion]:
    """Place of an ankle and orientation of its foot, of positions (nq,)."""
    if not legs.closed:
        return _chain_foot(legs, leg, q)
    hips, bones, at = legs.hips, legs.bones, legs.at
    hip = rotated(q[3], q[4], q[5], q[6], hips[leg, 0], hips[leg, 1], hips[leg, 2])
    a, k, f = at[leg, 0], q[at[leg, 1]], at[leg, 2]
    thigh = product(q[3], q[4], q[5], q[6], q[a], q[a + 1], q[a + 2], q[a + 3])
    bone = rotated(*thigh, 0.0, 0.0, -bones[leg, 0])
    shin = product(*thigh, math.cos(0.5 * k), 0.0, math.sin(0.5 * k), 0.0)
    lower = rotated(*shin, 0.0, 0.0, -bones[leg, 1])
    foot = product(*shin, q[f], q[f + 1], q[f + 2], q[f + 3])
    return (
        q[0] + hip[0] + bone[0] + lower[0],
        q[1] + hip[1] + bone[1] + lower[1],
        q[2] + hip[2] + bone[2] + lower[2],
    ), foot


@njit(cache=True)
def solve_leg(
    legs: Legs,
    leg: int,
    q: Floats,
    ankle: tuple[float, float, float],
    foot: Quaternion,
    twist: float,
) -> None:
    """Let a leg of `q` (nq,) reach `ankle` with a foot turned as `foot`, in place.

    The knee bends as far as the distance needs; the hip turns by the least rotation that
    then aims the leg, and by `twist`, [rad], about it.
    """
    if not legs.closed:
        _reach(legs, leg, q, ankle, foot)
        return
    hips, at = legs.hips, legs.at
    upper, lower = legs.bones[leg, 0], legs.bones[leg, 1]
    w, x, y, z = q[3], q[4], q[5], q[6]
    hip = rotated(w, x, y, z, hips[leg, 0], hips[leg, 1], hips[leg, 2])
    tx = ankle[0] - q[0] - hip[0]
    ty = ankle[1] - q[1] - hip[1]
    tz = ankle[2] - q[2] - hip[2]
    far = math.sqrt(tx * tx + ty * ty + tz * tz)
    tx, ty, tz = tx / far, ty / far, tz / far
    reach = min(far, STRAIGHT * (upper + lower))
    cosine = (reach * reach - upper * upper - lower * lower) / (2.0 * upper * lower)
    knee = math.acos(min(max(cosine, -1.0), 1.0))
    a, f = at[leg, 0], at[leg, 2]
    thigh = product(w, x, y, z, q[a], q[a + 1], q[a + 2], q[a + 3])
    ux, uy, uz = rotated(
        *thigh, -lower * math.sin(knee), 0.0, -upper - lower * math.cos(knee)
    )
    norm = math.sqrt(ux * ux + uy * uy + uz * uz)
    ux, uy, uz = ux / norm, uy / norm, uz / norm
    # The least rotation from u to t.
    rw = 1.0 + ux * tx + uy * ty + uz * tz
    rx, ry, rz = uy * tz - uz * ty, uz * tx - ux * tz, ux * ty - uy * tx
    norm = math.sqrt(rw * rw + rx * rx + ry * ry + rz * rz)
    thigh = product(rw / norm, rx / norm, ry / norm, rz / norm, *thigh)
    # The leg points down: a turn to the left is one about its opposite.
    s = -math.sin(0.5 * twist)
    thigh = product(math.cos(0.5 * twist), s * tx, s * ty, s * tz, *thigh)
    q[a], q[a + 1], q[a + 2], q[a + 3] = product(w, -x, -y, -z, *thigh)
    q[at[leg, 1]] = knee
    shin = product(*thigh, math.cos(0.5 * knee), 0.0, math.sin(0.5 * knee), 0.0)
    q[f], q[f + 1], q[f + 2], q[f + 3] = product(
        shin[0], -shin[1], -shin[2], -shin[3], *foot
    )


@njit(cache=True)
def _place_leg(legs: Legs, leg: int, q: Array, spots: Array, turns: Array) -> None:
    """Fill places (n, 3) and orientations (n, 4) of a leg's joints, of positions (nq,)."""
    step, local = np.empty(3), np.empty(4)
    for j in range(legs.at.shape[1]):
        above = q[3:7] if j == 0 else turns[j - 1]
        rotate(above, legs.offsets[leg, j], step)
        for k in range(3):
            spots[j, k] = step[k] + (q[k] if j == 0 else spots[j - 1, k])
        multiply(above, legs.rest[leg, j], turns[j])
        first = legs.at[leg, j]
        if legs.kinds[leg, j] == 1:
            about_axis(legs.axes[leg, j], q[first], local)
            multiply(turns[j], local, turns[j])
        else:
            multiply(turns[j], q[first : first + 4], turns[j])


@njit(cache=True)
def _chain_foot(
    legs: Legs, leg: int, q: Array
) -> tuple[tuple[float, float, float], Quaternion]:
    """As `foot_of`, of any leg: the orientation is that from a level foot."""
    count = legs.at.shape[1]
    spots, turns, foot = np.empty((count, 3)), np.empty((count, 4)), np.empty(4)
    _place_leg(legs, leg, q, spots, turns)
    multiply_inverse(turns[count - 1], legs.level[leg], foot)
    end = np.empty(3)
    _end_of(legs, leg, spots, turns, end)
    return (end[0], end[1], end[2]), (foot[0], foot[1], foot[2], foot[3])


@njit(cache=True)
def _end_of(legs: Legs, leg: int, spots: Array, turns: Array, out: Array) -> None:
    """Write the place of an ankle to `out`, (3,), [m]."""
    rotate(turns[legs.ankles[leg]], legs.ends[leg], out)
    for k in range(3):
        out[k] += spots[legs.ankles[leg], k]


@njit(cache=True)
def _slopes(legs: Legs, leg: int, spots: Array, turns: Array, out: Array) -> None:
    """Fill slopes (6, n) of an ankle's place in leg lengths, and of the foot's turn."""
    axis, spin, foot = np.zeros(3), np.empty(3), np.empty(3)
    _end_of(legs, leg, spots, turns, foot)
    end, length = legs.ankles[leg], legs.bones[leg, 0] + legs.bones[leg, 1]
    column = 0
    for j in range(legs.at.shape[1]):
        for k in range(legs.kinds[leg, j]):
            for i in range(3):
                axis[i] = 1.0 if i == k else 0.0
                if legs.kinds[leg, j] == 1:
                    axis[i] = legs.axes[leg, j, i]
            rotate(turns[j], axis, spin)
            x = foot[0] - spots[j, 0]
            y = foot[1] - spots[j, 1]
            z = foot[2] - spots[j, 2]
            share = 1.0 / length if j <= end else 0.0
            out[0, column] = share * (spin[1] * z - spin[2] * y)
            out[1, column] = share * (spin[2] * x - spin[0] * z)
            out[2, column] = share * (spin[0] * y - spin[1] * x)
            for i in range(3):
                out[3 + i, column] = TURN * legs.turned[i] * spin[i]
            column += 1


@njit(cache=True)
def _normal(slope: Array, miss: Array, normal: Array, right: Array) -> None:
    """Fill the damped normal equations of slopes (6, n) and what is missed, (6,)."""
    for i in range(len(right)):
        right[i] = 0.0
        for k in range(6):
            right[i] += slope[k, i] * miss[k]
        for j in range(len(right)):
            normal[i, j] = DAMPING if i == j else 0.0
            for k in range(6):
                normal[i, j] += slope[k, i] * slope[k, j]


@njit(cache=True)
def _reach(
    legs: Legs, leg: int, q: Array, ankle: tuple[float, float, float], foot: Quaternion
) -> None:
    """Let any leg reach `ankle` with a foot turned as `foot` from level, in place."""
    count = legs.at.shape[1]
    spots, turns = np.empty((count, 3)), np.empty((count, 4))
    aim, turned = np.empty(4), np.empty(4)
    turned[0], turned[1], turned[2], turned[3] = foot
    multiply(turned, legs.level[leg], aim)
    size = 0
    for j in range(count):
        size += legs.kinds[leg, j]
    length = legs.bones[leg, 0] + legs.bones[leg, 1]
    miss, slope = np.empty(6), np.zeros((6, size))
    normal, step, spin = np.empty((size, size)), np.empty(size), np.empty(3)
    foot_at = np.empty(3)
    for _ in range(ROUNDS):
        _place_leg(legs, leg, q, spots, turns)
        _end_of(legs, leg, spots, turns, foot_at)
        x, y, z = ankle[0] - spots[0, 0], ankle[1] - spots[0, 1], ankle[2] - spots[0, 2]
        far = math.sqrt(x * x + y * y + z * z)
        share = min(1.0, STRAIGHT * length / max(far, ENOUGH))
        miss[0] = (spots[0, 0] + share * x - foot_at[0]) / length
        miss[1] = (spots[0, 1] + share * y - foot_at[1]) / length
        miss[2] = (spots[0, 2] + share * z - foot_at[2]) / length
        multiply_inverse(aim, turns[count - 1], turned)
        logarithm(turned, spin)
        for i in range(3):
            miss[3 + i] = TURN * legs.turned[i] * spin[i]
        _slopes(legs, leg, spots, turns, slope)
        _normal(slope, miss, normal, step)
        eliminate(normal, step)
        largest = 0.0
        for i in range(size):
            largest = max(largest, abs(step[i]))
        share = min(1.0, LARGEST / max(largest, ENOUGH))
        for i in range(size):
            step[i] *= share
        column = 0
        for j in range(count):
            first = legs.at[leg, j]
            if legs.kinds[leg, j] == 1:
                moved = max(q[first] + step[column], legs.limits[leg, j, 0])
                q[first] = min(moved, legs.limits[leg, j, 1])
            else:
                ball = q[first : first + 4]
                turn(ball, step[column], step[column + 1], step[column + 2])
            column += legs.kinds[leg, j]
        if largest < ENOUGH:
            break
