"""Compiled: fits a predicted pose exactly to its trackers, with feet on the ground.

In this order: hips, spine, head, legs, arms. Limbs are solved in closed form; knees and elbows
bend as the network predicts.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array
from ambulo.ik.avatar.layout import (
    ANKLE,
    CLAVICLES,
    FORE,
    HAND,
    HEAD,
    NECK,
    PELVIS,
    SHIN,
    SPINE,
    THIGHS,
    TORSO,
    TREE,
    UPPER,
)
from ambulo.ik.avatar.limbs import STRETCH, solve_arm, solve_leg
from ambulo.ik.trackers.feet import plant
from ambulo.ik.trackers.layout import HEAD_ROW, HIPS_ROW, LEFT_FOOT, LEFT_HAND
from ambulo.ik.trackers.smoothing import spring
from ambulo.motion.fk_kernel import place_joints, place_pose
from ambulo.motion.quaternion_kernels import (
    inverse_multiply,
    nlerp,
    rotated,
    swing,
)

BENDS, BEND = 3, 0.7
"""Sweeps over the spine if hips and head are both given, and the fraction of the rotation that
each joint performs in one sweep."""
REACH = 0.35
"""Largest rotation of a clavicle towards a hand out of reach, [rad]."""

SOFT_LEG, SOFT_ARM = 0.03, 0.01
"""Fraction of a limb's length within which it does not become straight."""

# Indices of a tracker's influence on its joint.
WEIGHT, THERE, ONCE, OFFSET, REST, CALMED, CALM = 0, 1, 2, 3, 6, 9, 10
"""Weight from 0 (predicted) to 1 (tracked); 1 while the tracker is present; 1 once it was; its
offset from the predicted position (3) [m]; remaining offset of a jump at its return (3) [m];
for the head: 1 once the body was moved, the displacement (3) [m] and its rate (3) [m/s]."""
HOLD = 16
CALM_RATE = 45.0
"""Frequency of the spring by which the body follows the head, [rad/s]."""
TAKE, LET_GO, REST_FADE = 0.2, 0.4, 0.1
"""Time in which a returning tracker regains its full weight; time constants of losing it, and
of the remaining offset, [s]."""


@njit(cache=True)
def fit(
    offsets: Array, sole: Array, ground: float, dt: float, goals: Array, goal_turns: Array,
    present: Array, holds: Array, contacts: Array, feet: Array, root: Array, local: Array,
    positions: Array, world: Array,
) -> None:  # fmt: skip
    """Fit a pose to its goals, in place.

    Args:
        offsets: Offsets of the player's joints, [m]. Shape (23, 3).
        sole: Heel and ball in the ankle's frame, [m]. Shape (2, 3).
        ground: Height of the ground, [m].
        dt: Time since the last frame, [s].
        goals: Positions of the tracked joints, [m]. Shape (6, 3).
        goal_turns: Their orientations. Shape (6, 4).
        present: 1 for each present tracker. Shape (6,).
        holds: State of the trackers' influence, updated. Shape (6, HOLD).
        contacts: Probabilities of contact of heels and balls. Shape (4,).
        feet: State of the feet, updated. Shape (2, FOOT).
        root: Position of the pelvis, [m]. Shape (3,).
        local: Local rotations. Shape (23, 4).
        positions: Positions of the joints, filled, [m]. Shape (23, 3).
        world: Orientations of the joints, filled. Shape (23, 4).
    """
    goal, ankles = np.empty(3), np.empty((2, 3))
    place_pose(TREE, None, offsets, root, local, positions, world)
    for side in range(2):
        for i in range(3):
            ankles[side, i] = positions[THIGHS[side] + ANKLE, i] - root[i]
    # As integer variables: `_held` would be compiled for each literal.
    hips, head = np.int64(HIPS_ROW), np.int64(HEAD_ROW)
    part = _held(goals, present, holds, hips, root, dt, goal)
    if part > 0.0:
        _put_hips(
            goal, goal_turns[HIPS_ROW], part, offsets, root, local, positions, world
        )
    weight = _held(goals, present, holds, head, positions[HEAD], dt, goal)
    if weight > 0.0:
        if part > 0.0:
            _bend_spine(offsets, goal, part, local, positions, world)
        for i in range(3):
            shift = _calm(holds[HEAD_ROW], i, goal[i] - positions[HEAD, i], dt)
            root[i] += shift
            for j in range(len(positions)):
                positions[j, i] += shift
        nlerp(world[HEAD].copy(), goal_turns[HEAD_ROW], weight, world[HEAD])
        inverse_multiply(world[NECK], world[HEAD], local[HEAD])
    for side in range(2):
        _fit_leg(
            side, offsets, sole, ground, dt, root + ankles[side], goals,
            goal_turns[LEFT_FOOT + side], present, holds, contacts[2 * side],
            contacts[2 * side + 1], feet[side], local, positions, world,
        )  # fmt: skip
        row, hand = LEFT_HAND + side, CLAVICLES[side] + HAND
        weight = _held(goals, present, holds, row, positions[hand], dt, goal)
        if weight > 0.0:
            _fit_arm(
                side, offsets, goal, goal_turns[row], weight, local, positions, world
            )
    place_pose(TREE, None, offsets, root, local, positions, world)


@njit(cache=True)
def _put_hips(
    goal: Array, goal_turn: Array, weight: float, offsets: Array, root: Array, local: Array,
    positions: Array, world: Array,
) -> None:  # fmt: skip
    """Put the hips on their tracker; thighs keep their directions in the world.

    A belt's tracker tilts with the belly: legs that turned with it would leave the ground.
    """
    for i in range(3):
        root[i] = goal[i]
    nlerp(local[PELVIS].copy(), goal_turn, weight, local[PELVIS])
    for thigh in THIGHS:
        inverse_multiply(local[PELVIS], world[thigh], local[thigh])
    place_pose(TREE, None, offsets, root, local, positions, world)


@njit(cache=True)
def _held(
    goals: Array, present: Array, holds: Array, row: int, predicted: Array, dt: float,
    goal: Array,
) -> float:  # fmt: skip
    """Weight of a tracker; `goal` (3,) becomes the target position of its joint, [m].

    The weight of a lost tracker fades slowly, relative to the joint's predicted position; a
    returning one regains it without a jump.
    """
    hold = holds[row]
    if present[row] > 0.0:
        before = hold[WEIGHT]
        if hold[WEIGHT] == 0.0 and hold[ONCE] == 0.0:
            hold[WEIGHT], before = 1.0, 1.0
        elif hold[THERE] == 0.0:
            for i in range(3):
                change = hold[OFFSET + i] - (goals[row, i] - predicted[i])
                hold[REST + i] += before * change
        hold[WEIGHT] = min(hold[WEIGHT] + dt / TAKE, 1.0)
        for i in range(3):
            hold[OFFSET + i] = goals[row, i] - predicted[i]
        hold[THERE], hold[ONCE] = 1.0, 1.0
    else:
        hold[WEIGHT] *= math.exp(-dt / LET_GO)
        hold[THERE] = 0.0
        if hold[WEIGHT] < 1e-3:
            hold[WEIGHT] = 0.0
    fade = math.exp(-dt / REST_FADE)
    for i in range(3):
        hold[REST + i] *= fade
        goal[i] = predicted[i] + hold[WEIGHT] * hold[OFFSET + i] + hold[REST + i]
    return hold[WEIGHT]


@njit(cache=True)
def _calm(hold: Array, axis: int, shift: float, dt: float) -> float:
    """Displacement of the body along an axis that brings its head to its tracker, [m].

    The network's pose already moves with the head; the remainder changes slowly. So it follows
    a spring, and the tracker's noise does not shake the whole body.
    """
    at, rate = CALM + axis, CALM + 3 + axis
    if hold[CALMED] == 0.0:
        hold[at], hold[rate] = shift, 0.0
        if axis == 2:
            hold[CALMED] = 1.0
        return shift
    hold[at], hold[rate] = spring(hold[at], hold[rate], shift, CALM_RATE, dt)
    return hold[at]


@njit(cache=True)
def _bend_spine(
    offsets: Array,
    goal: Array,
    weight: float,
    local: Array,
    positions: Array,
    world: Array,
) -> None:
    """Bend the spine from the present hips so that the head reaches its goal."""
    for _ in range(BENDS):
        for joint in (SPINE, TORSO, NECK):
            at, head = positions[joint], positions[HEAD]
            swing(
                world[joint],
                head[0] - at[0], head[1] - at[1], head[2] - at[2],
                goal[0] - at[0], goal[1] - at[1], goal[2] - at[2],
                BEND * weight,
            )  # fmt: skip
            inverse_multiply(world[TREE[joint]], world[joint], local[joint])
            place_pose(
                TREE, None, offsets, positions[PELVIS].copy(), local, positions, world
            )


@njit(cache=True)
def _fit_leg(
    side: int, offsets: Array, sole: Array, ground: float, dt: float, ankle: Array,
    goals: Array, goal_turn: Array, present: Array, holds: Array, heel: float, ball: float,
    foot: Array, local: Array, positions: Array, world: Array,
) -> None:  # fmt: skip
    """Put a foot on its tracker, or else where its contacts keep it."""
    thigh = THIGHS[side]
    talus = thigh + ANKLE
    place_joints(TREE, None, offsets, local, thigh, thigh + 1, positions, world)
    turn = world[talus].copy()
    plant(foot, heel, ball, ground, sole, dt, ankle, turn)
    goal = np.empty(3)
    weight = _held(goals, present, holds, LEFT_FOOT + side, ankle, dt, goal)
    if weight > 0.0:
        for i in range(3):
            ankle[i] = goal[i]
        nlerp(turn.copy(), goal_turn, weight, turn)
    frame = world[thigh]
    x, y, z = rotated(frame[0], frame[1], frame[2], frame[3], 0.0, 1.0, 0.0)
    hinge = np.array([x, y, z])
    soften(
        positions[thigh], -offsets[thigh + SHIN, 2] - offsets[talus, 2], SOFT_LEG, ankle
    )
    solve_leg(thigh, positions[thigh], ankle, hinge, turn, offsets, world, local)


@njit(cache=True)
def _fit_arm(
    side: int, offsets: Array, goal: Array, goal_turn: Array, weight: float, local: Array,
    positions: Array, world: Array,
) -> None:  # fmt: skip
    """Bring a hand to its tracker."""
    clavicle, sign = CLAVICLES[side], 1.0 - 2.0 * side
    upper, hand = clavicle + UPPER, clavicle + HAND
    wrist, turn = goal.copy(), np.empty(4)
    nlerp(world[hand], goal_turn, weight, turn)
    frame = world[upper].copy()
    _reach(clavicle, wrist, offsets, local, positions, world)
    shoulder = positions[upper]
    longest = abs(offsets[clavicle + FORE, 1]) + abs(offsets[hand, 1])
    soften(shoulder, longest, SOFT_ARM, wrist)
    ex, ey, ez = wrist[0] - shoulder[0], wrist[1] - shoulder[1], wrist[2] - shoulder[2]
    size = max(math.sqrt(ex * ex + ey * ey + ez * ez), 1e-9)
    ex, ey, ez = ex / size, ey / size, ez / size
    # The elbow bends about Z of the upper arm; the pole lies across that axis and the arm.
    zx, zy, zz = rotated(frame[0], frame[1], frame[2], frame[3], 0.0, 0.0, 1.0)
    pole = np.array(
        [
            sign * (zy * ez - zz * ey),
            sign * (zz * ex - zx * ez),
            sign * (zx * ey - zy * ex),
        ]
    )
    solve_arm(clavicle, sign, shoulder, wrist, pole, turn, offsets, world, local)


@njit(cache=True)
def soften(base: Array, longest: float, zone: float, end: Array) -> None:
    """Move the `end` (3,) of a nearly straight limb a little towards its `base` (3,).

    Knee or elbow of a straight limb would jump with the smallest movement of the end: the angle
    is the square root of the distance to the full length. Within `zone` of this length the
    distance approaches it exponentially.
    """
    x, y, z = end[0] - base[0], end[1] - base[1], end[2] - base[2]
    distance = math.sqrt(x * x + y * y + z * z)
    width = zone * longest
    over = distance - (longest - width)
    if over <= 0.0:
        return
    part = (longest - width * math.exp(-over / width)) / distance
    end[0], end[1], end[2] = base[0] + part * x, base[1] + part * y, base[2] + part * z


@njit(cache=True)
def _reach(
    clavicle: int,
    wrist: Array,
    offsets: Array,
    local: Array,
    positions: Array,
    world: Array,
) -> None:
    """Rotate a clavicle towards a hand that is out of reach; fill the shoulder's position."""
    upper, fore = clavicle + UPPER, clavicle + FORE
    longest = 0.0
    for joint in (fore, clavicle + HAND):
        x, y, z = offsets[joint, 0], offsets[joint, 1], offsets[joint, 2]
        longest += STRETCH * math.sqrt(x * x + y * y + z * z)
    base, shoulder = positions[clavicle], positions[upper]
    dx, dy, dz = wrist[0] - shoulder[0], wrist[1] - shoulder[1], wrist[2] - shoulder[2]
    missing = math.sqrt(dx * dx + dy * dy + dz * dz) - longest
    if missing > 0.0:
        bx, by, bz = shoulder[0] - base[0], shoulder[1] - base[1], shoulder[2] - base[2]
        wx, wy, wz = wrist[0] - base[0], wrist[1] - base[1], wrist[2] - base[2]
        length = math.sqrt(bx * bx + by * by + bz * bz)
        far = math.sqrt(wx * wx + wy * wy + wz * wz)
        cosine = (bx * wx + by * wy + bz * wz) / max(length * far, 1e-9)
        angle = math.acos(min(max(cosine, -1.0), 1.0))
        if angle > 1e-3:
            across = max(length * math.sin(angle), 1e-3)
            part = min(missing / across, REACH / angle, 1.0)
            swing(world[clavicle], bx, by, bz, wx, wy, wz, part)
            inverse_multiply(world[TORSO], world[clavicle], local[clavicle])
            place_joints(TREE, None, offsets, local, upper, upper + 1, positions, world)
