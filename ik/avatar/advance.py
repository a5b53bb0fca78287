"""Compiled: one step of the avatar. The add-on's `avatar_pose.gd` computes the same."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array
from ambulo.ik.avatar.clock import (
    AMOUNT,
    CYCLES,
    DIR_X,
    DIR_Y,
    FACING,
    GAIT,
    LATE,
    OFFSET,
    PART,
    PHASE,
    PLACED,
    ROW,
    SIGN,
    SPEED,
    STEPPING,
    STRETCH,
    follow,
    set_gait,
    tick,
)
from ambulo.ik.avatar.feet import DOWN, TURN, flight, needs_step, place, record
from ambulo.ik.avatar.layout import (
    ANKLE,
    CLAVICLES,
    HEAD,
    NECK,
    PELVIS,
    PINKY,
    SHIN,
    SIDE,
    SPINE,
    THIGHS,
    THUMB,
    TORSO,
    TREE,
    UPPER,
)
from ambulo.ik.avatar.limbs import STRETCH as REACH
from ambulo.ik.avatar.limbs import solve_arm, solve_leg
from ambulo.ik.avatar.sampling import mixed, pose_at, root_at
from ambulo.motion.fk_kernel import place_joints
from ambulo.motion.quaternion_kernels import (
    inverse_multiply,
    multiply,
    nlerp,
    rotate,
    set_yaw,
    yaw_of,
)

COUNTER = 0.35
"""Fraction of the pelvis' rotation that each of the two trunk joints takes back."""
TOES_OUT = 0.12
"""Feet of the standing pose point outwards by this angle, [rad]."""
LEAST_LIFT = 0.5
"""Foot lift of steps on the spot, as a fraction of that of the slowest walk."""
STANCE_PART = 0.31
"""Largest distance of a stance foot ahead of or behind its home, as a fraction of the
stride."""
APART = 0.05
"""Smallest distance of sidestepping feet from the middle, [m]."""
LONGEST = 2.0
"""Longest stride with space for sidesteps, [m]."""
LOWEST = 0.12
"""Largest lowering of the pelvis for a foot out of reach, [m]."""
MOST_ROLL = 0.8
"""Largest roll of a heel that brings its leg within reach, [rad]."""
LEAVING, COMING = 0.2, 0.6
"""Weights of the lowering for a foot in flight: fading out until the first fraction of the
flight, fading in from the second."""


@njit(cache=True)
def advance(
    table: tuple[Array, ...], state: Array, feet: Array, head: Array, gaze: Array,
    ground: float, dt: float, exact: float, hands: Array, poles: Array, local: Array,
    world: Array, positions: Array,
) -> None:  # fmt: skip
    """Advance the avatar by one step, and fill its pose.

    Args:
        table: Arrays of a `GaitTable` and its body, in the order of `AvatarPose`.
        state: Updated (see `clock`).
        feet: State of both feet, updated (see `feet`). Shape (2, FOOT).
        head: World position of the middle of the eyes, [m]. Shape (3,).
        gaze: World orientation of the head. Shape (4,).
        ground: Height of the ground, [m].
        dt: Time since the last step, [s].
        exact: Fraction of the gait's head motion that the body compensates.
        hands: For each hand 1 if it is led, world position and orientation. Shape (2, 8).
        poles: World directions of the elbows, for hands that are led. Shape (2, 3).
        local: Filled with local rotations; the root's is its orientation. Shape (J, 4).
        world: Filled with world orientations. Shape (J, 4).
        positions: Filled with world positions, [m]. Shape (J, 3).
    """
    speeds, rates, rotations, root, stance, homes, heads = table[:7]
    stand, stand_root, stand_homes, stand_head, offsets, sole, eyes = table[7:]
    gait = np.empty(GAIT)
    follow(state, head[0], head[1], yaw_of(gaze), dt)
    set_gait(state, speeds, rates, dt, gait)
    if state[PLACED] > 0.0:
        tick(state, gait, dt)
    k, t, phase = int(gait[ROW]), gait[PART], state[PHASE]
    amount = gait[AMOUNT]
    # The full gait leads the feet; the displayed pose is blended with standing.
    pose_at(rotations, stand, k, t, phase, 1.0, local)
    moved = np.empty(3)
    root_at(root, k, t, phase, moved)
    _set_pelvis(gait[FACING], local, world)
    ankles, turns, hinges = np.empty((2, 3)), np.empty((2, 4)), np.empty((2, 3))
    rolls = np.empty(2)
    for i in range(2):
        _gait_leg(
            THIGHS[i], moved, gait[FACING], offsets, local, world, positions,
            ankles[i], turns[i], hinges[i],
        )  # fmt: skip
    toes = np.empty((2, 2, 4))
    for i in range(2):
        toes[i, 0], toes[i, 1] = local[THIGHS[i] + PINKY], local[THIGHS[i] + THUMB]
    pose_at(rotations, stand, k, t, phase, amount, local)
    for i in range(3):
        moved[i] = stand_root[i] + amount * (moved[i] - stand_root[i])
    _set_pelvis(gait[FACING], local, world)
    middle = np.empty(3)
    _set_trunk(
        state, gait, heads, stand_head, eyes, head, gaze, exact, moved, ground, offsets,
        local, world, positions, middle,
    )  # fmt: skip
    goals = np.empty((2, 3))
    _set_feet(
        state, gait, stance, homes, stand_homes, sole, ground, middle, feet, ankles,
        turns, hinges, goals,
    )  # fmt: skip
    _keep_legs_in_reach(
        state, exact, stance, gait, sole, feet, ankles, turns, offsets, world, positions,
        rolls,
    )  # fmt: skip
    for i in range(2):
        thigh = THIGHS[i]
        place_joints(TREE, None, offsets, local, thigh, thigh + 1, positions, world)
        solve_leg(
            thigh,
            positions[thigh],
            ankles[i],
            hinges[i],
            turns[i],
            offsets,
            world,
            local,
        )
        _set_toes(thigh, gait, toes[i], rolls[i], local)
        record(ankles[i], turns[i], sole, feet[i])
    _set_arms(hands, poles, offsets, local, world, positions)
    state[STEPPING] = needs_step(state, gait, feet, ankles, goals)
    state[PLACED] = 1.0
    place_joints(TREE, None, offsets, local, 1, len(local), positions, world)


@njit(cache=True)
def _set_pelvis(facing: float, local: Array, world: Array) -> None:
    """Rotate the pelvis' local rotation to the heading of the pelvis, [rad]."""
    about = np.empty(4)
    set_yaw(facing, about)
    multiply(about, local[PELVIS], world[PELVIS])
    for i in range(4):
        local[PELVIS, i] = world[PELVIS, i]


@njit(cache=True)
def _gait_leg(
    thigh: int, root: Array, facing: float, offsets: Array, local: Array, world: Array,
    positions: Array, ankle: Array, turn: Array, hinge: Array,
) -> None:  # fmt: skip
    """Ankle in the body frame [m], foot's world orientation and knee axis of the gait."""
    c, s = math.cos(facing), math.sin(facing)
    positions[PELVIS, 0] = c * root[0] - s * root[1]
    positions[PELVIS, 1] = s * root[0] + c * root[1]
    positions[PELVIS, 2] = root[2]
    talus = thigh + ANKLE
    place_joints(TREE, None, offsets, local, thigh, talus + 1, positions, world)
    x, y = positions[talus, 0], positions[talus, 1]
    ankle[0], ankle[1], ankle[2] = c * x + s * y, c * y - s * x, positions[talus, 2]
    for i in range(4):
        turn[i] = world[talus, i]
    rotate(world[thigh], np.array([0.0, 1.0, 0.0]), hinge)


@njit(cache=True)
def _set_trunk(
    state: Array, gait: Array, heads: Array, stand_head: Array, eyes: Array, head: Array,
    gaze: Array, exact: float, moved: Array, ground: float, offsets: Array, local: Array,
    world: Array, positions: Array, middle: Array,
) -> None:  # fmt: skip
    """Place the root under the head, and turn trunk, neck and head.

    Fills `middle` (3,) with the origin of the body frame in the world, [m].
    """
    amount = gait[AMOUNT]
    mean, wanted = np.empty(3), np.empty(3)
    mixed(heads, int(gait[ROW]), gait[PART], mean)
    rotate(gaze, eyes, wanted)
    for i in range(3):
        mean[i] = stand_head[i] + amount * (mean[i] - stand_head[i])
        wanted[i] = head[i] - wanted[i]
    c, s = math.cos(gait[FACING]), math.sin(gait[FACING])
    middle[0] = wanted[0] - c * mean[0] + s * mean[1]
    middle[1] = wanted[1] - s * mean[0] - c * mean[1]
    middle[2] = ground
    positions[PELVIS, 0] = middle[0] + c * moved[0] - s * moved[1]
    positions[PELVIS, 1] = middle[1] + s * moved[0] + c * moved[1]
    # Walking lowers the head by 2 to 5 cm: its height is compared with standing.
    positions[PELVIS, 2] = moved[2] + wanted[2] - stand_head[2]
    about = np.empty(4)
    set_yaw(-COUNTER * state[OFFSET], about)
    for joint in (SPINE, TORSO):
        multiply(about, local[joint], local[joint])
        parent = PELVIS if joint == SPINE else SPINE
        multiply(world[parent], local[joint], world[joint])
    # The neck takes half of the rotation from the trunk to the gaze.
    nlerp(world[TORSO], gaze, 0.5, world[NECK])
    inverse_multiply(world[TORSO], world[NECK], local[NECK])
    for i in range(4):
        world[HEAD, i] = gaze[i]
    inverse_multiply(world[NECK], gaze, local[HEAD])
    place_joints(TREE, None, offsets, local, SPINE, HEAD + 1, positions, world)
    for i in range(3):
        positions[PELVIS, i] += exact * (wanted[i] - positions[HEAD, i])


@njit(cache=True)
def _set_feet(
    state: Array, gait: Array, stance: Array, homes: Array, stand_homes: Array, sole: Array,
    ground: float, middle: Array, feet: Array, ankles: Array, turns: Array, hinges: Array,
    goals: Array,
) -> None:  # fmt: skip
    """Turn the gait's ankles in the body frame into feet on the ground in the world.

    Fills `goals` (2, 3) with places (x, y) [m] and yaws [rad] of feet that stand at home.
    """
    k, t, amount, stretch = int(gait[ROW]), gait[PART], gait[AMOUNT], gait[STRETCH]
    facing, dx, dy = gait[FACING], gait[DIR_X], gait[DIR_Y]
    c, s = math.cos(facing), math.sin(facing)
    flat, level, about = -sole[0, 2], np.empty(4), np.empty(4)
    roll, lift = stretch * max(dx, 0.0), max(stretch, LEAST_LIFT)
    window, mean, home, step = np.empty(2), np.empty(2), np.empty(2), np.empty(2)
    stride = gait[SPEED] / max(gait[CYCLES], 1e-9)
    side = abs(dy) * (APART + STANCE_PART * min(stride, LONGEST))
    for i in range(2):
        mixed(stance[:, i], k, t, window)
        mixed(homes[:, i], k, t, mean)
        ex, ey = stretch * (ankles[i, 0] - mean[0]), stretch * (ankles[i, 1] - mean[1])
        hx = stand_homes[i, 0] + amount * (mean[0] - stand_homes[i, 0])
        hy = stand_homes[i, 1] + amount * (mean[1] - stand_homes[i, 1])
        hy = SIDE[i] * max(SIDE[i] * hy, side)
        sx, sy = ex * dx - ey * dy, ex * dy + ey * dx
        home[0], home[1] = c * hx - s * hy, s * hx + c * hy
        step[0], step[1] = c * sx - s * sy, s * sx + c * sy
        ankles[i, 0] = middle[0] + home[0] + step[0]
        ankles[i, 1] = middle[1] + home[1] + step[1]
        ankles[i, 2] = ground + flat + lift * (ankles[i, 2] - flat)
        out = facing + SIDE[i] * TOES_OUT * (1.0 - amount)
        set_yaw(out, level)
        nlerp(level, turns[i], roll, turns[i])
        goals[i, 0], goals[i, 1] = middle[0] + home[0], middle[1] + home[1]
        goals[i, 2] = out
        place(
            state, gait, window, home, step, ground, sole, feet[i], ankles[i], turns[i]
        )
        # The knee follows half of the foot's turn.
        set_yaw(0.5 * feet[i, TURN], about)
        rotate(about, hinges[i], hinges[i])


@njit(cache=True)
def _keep_legs_in_reach(
    state: Array, exact: float, stance: Array, gait: Array, sole: Array, feet: Array,
    ankles: Array, turns: Array, offsets: Array, world: Array, positions: Array, rolls: Array,
) -> None:  # fmt: skip
    """Bring stance feet within reach: heels rise first, then the pelvis is lowered.

    The pelvis stays where the head must be exact. Fills `rolls` (2,) with the rolls of the
    heels, [rad].
    """
    window, drop, late = np.empty(2), 0.0, 0.0
    for i in range(2):
        thigh = THIGHS[i]
        over = _overreach(thigh, ankles[i], offsets, world, positions)
        rolls[i] = 0.0
        if feet[i, DOWN] > 0.0 and over > 0.0:
            late = max(late, over)
            rolls[i] = _raise_heel(over, sole, ankles[i], turns[i], positions)
            over = _overreach(thigh, ankles[i], offsets, world, positions)
        mixed(stance[:, i], int(gait[ROW]), gait[PART], window)
        part = flight(state[PHASE], window[0], window[1], state[SIGN])
        share = 1.0
        if part >= 0.0:
            share = max(1.0 - part / LEAVING, (part - COMING) / (1.0 - COMING), 0.0)
        drop = max(drop, share * over)
    state[LATE] = late
    positions[PELVIS, 2] -= (1.0 - exact) * min(drop, LOWEST)


@njit(cache=True)
def _overreach(
    thigh: int, ankle: Array, offsets: Array, world: Array, positions: Array
) -> float:
    """Distance by which the hip is too high for the ankle, [m]; negative if within reach."""
    hip = np.empty(3)
    length = -REACH * (offsets[thigh + SHIN, 2] + offsets[thigh + ANKLE, 2])
    rotate(world[PELVIS], offsets[thigh], hip)
    x = positions[PELVIS, 0] + hip[0] - ankle[0]
    y = positions[PELVIS, 1] + hip[1] - ankle[1]
    square = max(length * length - x * x - y * y, 0.01)
    return positions[PELVIS, 2] + hip[2] - ankle[2] - math.sqrt(square)


@njit(cache=True)
def _raise_heel(
    over: float, sole: Array, ankle: Array, turn: Array, positions: Array
) -> float:
    """Roll a foot behind the body over its ball, in place; returns the angle, [rad]."""
    arm, ahead = np.empty(3), np.empty(3)
    rotate(turn, sole[1], arm)
    rotate(turn, np.array([1.0, 0.0, 0.0]), ahead)
    x, y = positions[PELVIS, 0] - ankle[0], positions[PELVIS, 1] - ankle[1]
    if ahead[0] * x + ahead[1] * y <= 0.0:
        return 0.0
    angle = min(over / sole[1, 0], MOST_ROLL)
    roll = np.array([math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0])
    multiply(turn, roll, turn)
    for i in range(3):
        ankle[i] += arm[i]
    rotate(turn, sole[1], arm)
    for i in range(3):
        ankle[i] -= arm[i]
    return angle


@njit(cache=True)
def _set_toes(thigh: int, gait: Array, toes: Array, roll: float, local: Array) -> None:
    """Bend the toes as the gait does, in proportion to the roll, and back by `roll`, [rad]."""
    still = np.array([1.0, 0.0, 0.0, 0.0])
    back = np.array([math.cos(0.5 * roll), 0.0, -math.sin(0.5 * roll), 0.0])
    share = gait[STRETCH] * max(gait[DIR_X], 0.0)
    for k, joint in ((0, thigh + PINKY), (1, thigh + THUMB)):
        nlerp(still, toes[k], share, local[joint])
        multiply(back, local[joint], local[joint])


@njit(cache=True)
def _set_arms(
    hands: Array, poles: Array, offsets: Array, local: Array, world: Array,
    positions: Array,
) -> None:  # fmt: skip
    """Lead the hands that have targets; the other arms keep the gait's swing."""
    led = False
    for i in range(2):
        led = led or hands[i, 0] > 0.0
    if not led:
        return
    place_joints(TREE, None, offsets, local, SPINE, TORSO + 1, positions, world)
    for i in range(2):
        if hands[i, 0] == 0.0:
            continue
        clavicle = CLAVICLES[i]
        upper = clavicle + UPPER
        place_joints(TREE, None, offsets, local, clavicle, upper + 1, positions, world)
        solve_arm(
            clavicle, SIDE[i], positions[upper], hands[i, 1:4].copy(), poles[i],
            hands[i, 4:8], offsets, world, local,
        )  # fmt: skip
