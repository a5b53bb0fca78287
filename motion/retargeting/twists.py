"""Detect and correct hands, feet and straight arms that were captured 180 degrees off.

A capture that solves a foot or a hand for its direction has two solutions half a turn about the
bone apart: in an AMC file Rz(c + pi) Rx(pi - a) = Rz(c) Rx(a) Ry(pi), with Y along the bone.
Swapped wrist markers, and an upper arm with a straight elbow, cause the same error. The
positions of the joints are right then, so only the rotations are changed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.body import SHORT, SIDES, RetargetBody, retarget_body
from ambulo.motion.retargeting.transfer import source_hinge, turns_of
from ambulo.motion.rotations import (
    quat_angle,
    quat_conjugate,
    quat_multiply,
    quat_rotate,
    swing_twist,
)


@dataclass(frozen=True)
class _Limb:
    """Three bones, and the anatomically possible twists on the left side, [rad].

    Twists are about the bone, away from the body, from a rest pose with arms to the sides,
    palms down, and feet forwards.
    """

    upper: str
    lower: str
    end: str
    end_range: tuple[float, float]
    """Twist range of the end relative to the lower bone."""
    upper_range: tuple[float, float] | None
    """Twist range of the upper bone relative to its parent; None if it is never corrected."""


def _degrees(low: float, high: float) -> tuple[float, float]:
    return float(np.deg2rad(low)), float(np.deg2rad(high))


_LIMBS = (
    _Limb("upper_arm", "forearm", "hand", _degrees(-120, 135), _degrees(-155, 115)),
    _Limb("thigh", "shin", "foot", _degrees(-65, 60), None),
)
"""Ranges are 25 degrees wider than those of the rig `ik23`, which hold nearly all of 147 CMU
clips: poses outside are capture errors. Thighs are not corrected: that brought no captured leg
nearer to its limits."""

BACKWARDS, BENT = float(np.deg2rad(10.0)), float(np.deg2rad(30.0))
"""Largest backward bend of an elbow, and largest bend of a straight arm, [rad]."""

PERSISTENCE = 0.05
"""Cost of a rotation of 1 rad between two frames, relative to 1 rad outside a range for 1 s,
[s]. A twist of 60 degrees outside must last 0.3 s before it is corrected, unless it came by a
jump."""

_SMOOTH = float(np.deg2rad(5.0))
"""Largest additional rotation of a joint between two frames compared with the source, [rad]: a
state changes only where the capture itself jumps."""

_PREFERENCE = float(np.deg2rad(1.0))
"""A half turn must be better than none by this, [rad], and by half of the excess without one:
if both are far outside, the capture is unchanged."""

_Plan = dict[int, tuple[int, Floats]]
"""For each joint to correct: its part of the limb (0 or 1), and its bone at rest, (3,)."""

_STATES = np.array([[False, False], [False, True], [True, False], [True, True]])
"""The four states: whether the whole limb, and whether its end, is half a turn off."""


def untwisted(motion: Motion) -> Motion:
    """Return `motion` with limbs that are 180 degrees off corrected; itself if none is.

    Raises:
        MotionError: The skeleton lacks hips or thighs.
    """
    body = retarget_body(motion.skeleton)
    return turned_back(body, motion, motion_kinematics(motion)[1])


def turned_back(body: RetargetBody, motion: Motion, orientations: Floats) -> Motion:
    """As `untwisted`, given the body and world orientations (T, J, 4)."""
    turns = turns_of(body, orientations)
    rotations: Floats | None = None
    for side in SIDES:
        for limb in _LIMBS:
            found = _costs(body, side, limb, turns)
            if found is None:
                continue
            costs, steps = found
            plan = _plan(body, side, limb)
            smooth = _smooth(body, plan, orientations, motion.rotations)
            off = _STATES[_cheapest(costs / motion.fps, steps, smooth)]
            if off.any():
                if rotations is None:
                    rotations = motion.rotations.copy()
                local = _turned(body, plan, off, orientations, motion.rotations)[1]
                rotations[:, list(plan)] = local
    return motion if rotations is None else motion.replace(rotations=rotations)


def _costs(
    body: RetargetBody, side: str, limb: _Limb, turns: Floats
) -> tuple[Floats, list[tuple[Floats, Floats]]] | None:
    """Excess of each of the four states over the possible twists, (T, 4), and steps.

    None if the limb lacks the joints, or if no frame would improve.

    Args:
        body: The body.
        side: "left_" or "right_".
        limb: Arm or leg.
        turns: Turns of the body's joints. Shape (T, J, 4).
    """
    upper, lower, end = (side + role for role in (limb.upper, limb.lower, limb.end))
    first, second = body.bone(upper, lower), body.bone(lower, end)
    if first is None or second is None:
        return None
    third = body.end_bone(end)
    third = second if third is None else third
    first, second, third = (b / np.linalg.norm(b) for b in (first, second, third))
    above = quat_conjugate(turns[:, _carrier(body, side, limb)])
    arm = quat_multiply(above, turns[:, body.roles[upper]])
    tip = quat_multiply(
        quat_conjugate(turns[:, body.roles[lower]]), turns[:, body.roles[end]]
    )
    mirrored = side == SIDES[1]
    costs = np.zeros((len(turns), len(_STATES)))
    if limb.upper_range is None:
        of_tip = _twist(tip, third)
        costs[:, 2:] = np.inf
    else:
        elbow = _elbow(body, side, limb, turns, first, second)
        if elbow is None:
            return None
        offset, angle = elbow
        of_arm, of_tip = _twist(arm, first) + offset, _twist(tip, second) - offset
        for state, (whole, _) in enumerate(_STATES):
            costs[:, state] = (
                _outside(of_arm + np.pi * whole, limb.upper_range, mirrored)
                + np.maximum((angle if whole else -angle) - BACKWARDS, 0.0)
                + whole * np.maximum(np.abs(angle) - BENT, 0.0)
            )
    for state, (whole, only_end) in enumerate(_STATES):
        costs[:, state] += _outside(
            of_tip + np.pi * (whole != only_end), limb.end_range, mirrored
        ) + _PREFERENCE * (int(whole) + int(only_end))
    costs[:, 1:] += 0.5 * costs[:, :1]
    if not (costs[:, 0] > costs[:, 1:].min(axis=1)).any():
        return None
    whole_tip = quat_multiply(above, turns[:, body.roles[end]])
    return costs, [_steps(arm, first), _steps(whole_tip, third)]


def _elbow(
    body: RetargetBody,
    side: str,
    limb: _Limb,
    turns: Floats,
    first: Floats,
    second: Floats,
) -> tuple[float, Floats] | None:
    """Angle of the elbow's axis at rest, and its bend, [rad], () and (T,).

    The first is the angle about the upper arm, from an axis that bends it forwards. None if it
    bends backwards all the time: such an arm is not off by half turns.
    """
    upper, lower = side + limb.upper, side + limb.lower
    forwards = np.cross(first, [1.0, 0.0, 0.0])
    hinge = source_hinge(body, lower, turns, forwards)
    if hinge is None:
        return 0.0, np.full(len(turns), np.pi)
    if np.dot(hinge, forwards) < 0.0:
        return None
    bend = quat_multiply(
        quat_conjugate(turns[:, body.roles[upper]]), turns[:, body.roles[lower]]
    )
    now = quat_rotate(bend, second)
    angle: Floats = np.arctan2(np.cross(first, now) @ hinge, now @ first)
    return _angle_about(first, forwards, hinge), angle


def _carrier(body: RetargetBody, side: str, limb: _Limb) -> int:
    """The joint relative to which the upper bone rotates."""
    if limb.end == "foot":
        return body.roles["hips"]
    for role in (side + "clavicle", "chest"):
        if role in body.roles:
            return body.roles[role]
    return body.roles["hips"]


def _twist(turns: Floats, axis: Floats) -> Floats:
    """Angle of `turns` (T, 4) about `axis` (3,), [rad]. Shape (T,)."""
    twist = swing_twist(turns, axis)[1]
    angle: Floats = 2.0 * np.arctan2(twist[:, 1:] @ axis, twist[:, 0])
    return angle


def _angle_about(axis: Floats, start: Floats, end: Floats) -> float:
    """The angle about `axis` (3,) from `start` to `end`, [rad]."""
    start, end = (v - np.dot(v, axis) * axis for v in (start, end))
    return float(np.arctan2(np.dot(np.cross(start, end), axis), np.dot(start, end)))


def _outside(angle: Floats, span: tuple[float, float], mirrored: bool) -> Floats:
    """Distance of `angle` (T,) from `span` of the left side, on the circle, [rad]."""
    middle, half = 0.5 * (span[0] + span[1]), 0.5 * (span[1] - span[0])
    away = angle + middle if mirrored else angle - middle
    away = np.abs(np.mod(away + np.pi, 2.0 * np.pi) - np.pi)
    return np.maximum(away - half, 0.0)


def _steps(turns: Floats, bone: Floats) -> tuple[Floats, Floats]:
    """Angles between neighbours of `turns` (T, 4), [rad], (T - 1,) each.

    Unmodified, and with one of the two rotated by half a turn about `bone` (3,).
    """
    half = np.array([0.0, *bone])
    ahead = turns[1:]
    pair = []
    for before in (turns[:-1], quat_multiply(turns[:-1], half)):
        cosine = np.abs(np.sum(before * ahead, axis=-1))
        pair.append(2.0 * np.arccos(np.minimum(cosine, 1.0)))
    return pair[0], pair[1]


def _smooth(
    body: RetargetBody, plan: _Plan, orientations: Floats, rotations: Floats
) -> Bools:
    """Whether no joint rotates more in the step to a frame than in the source.

    In the world, with the limb's children, and relative to its parent. Shape (T - 1, 4, 4) over
    the state before and the state after.
    """
    frames, count = len(orientations), len(_STATES)
    joints, parents = list(plan), body.skeleton.parents
    hanging = [
        joint
        for joint in range(len(parents))
        if joint not in plan and parents[joint] in plan
    ]
    holders = [joints.index(parents[joint]) for joint in hanging]
    states = []
    for state in _STATES:
        off = np.tile(state, (frames, 1))
        world, local = _turned(body, plan, off, orientations, rotations)
        own = quat_multiply(body.skeleton.rest[hanging], rotations[:, hanging])
        hung = quat_multiply(world[:, holders], own)
        states.append(np.concatenate([world, local, hung], axis=1))
    limit = quat_angle(states[0][:-1], states[0][1:]) + _SMOOTH
    result = np.ones((frames - 1, count, count), dtype=bool)
    for before, after in np.ndindex(count, count):
        if before != after:  # otherwise every joint rotates as in the source
            step = quat_angle(states[before][:-1], states[after][1:])
            result[:, before, after] = (step <= limit).all(axis=1)
    return result


def _cheapest(
    costs: Floats, steps: list[tuple[Floats, Floats]], smooth: Bools
) -> NDArray[np.int64]:
    """The cheapest sequence of states, (T,), for costs (T, 4) and the steps of both parts.

    Of all sequences with `smooth` changes (T - 1, 4, 4), the one with the smallest excess over
    the possible twists and the least rotation from frame to frame (dynamic programming, A.
    Viterbi, IEEE Transactions on Information Theory 13, 1967).
    """
    differs = _STATES[:, None, :] != _STATES[None, :, :]
    total = costs[0].copy()
    came = np.empty(costs.shape, dtype=np.int64)
    columns = np.arange(costs.shape[1])
    for t in range(1, len(costs)):
        totals = np.where(smooth[t - 1], total[:, None], np.inf) + PERSISTENCE * sum(
            np.where(differs[..., part], changed[t - 1], same[t - 1])
            for part, (same, changed) in enumerate(steps)
        )
        came[t] = np.argmin(totals, axis=0)
        total = totals[came[t], columns] + costs[t]
    path = np.empty(len(costs), dtype=np.int64)
    path[-1] = int(np.argmin(total))
    for t in range(len(costs) - 1, 0, -1):
        path[t - 1] = came[t, path[t]]
    return path


def _plan(body: RetargetBody, side: str, limb: _Limb) -> _Plan:
    """The joints of a limb to correct, each with its part and its bone at rest.

    Joints of the limb and toes rotate about their own bones, so that all positions are
    preserved; other children (fingers) follow.
    """
    upper, lower, end = (
        body.roles[side + role] for role in (limb.upper, limb.lower, limb.end)
    )
    last = body.end_bone(side + limb.end)
    if last is None:
        last = body.positions[end] - body.positions[lower]
    plan: _Plan = {end: (1, last)}
    for part, start, stop in ((0, upper, lower), (1, lower, end)):
        for joint in body.skeleton.path(start, stop)[:-1]:
            bone = body.positions[stop] - body.positions[joint]
            # A wrist may coincide with the hand's joint.
            bone = bone if np.linalg.norm(bone) >= SHORT else last
            plan[joint] = (0 if joint == lower else part, bone)
    if limb.end == "foot":
        for toe in body.skeleton.children(end):
            bone = body.joint_bone(toe)
            plan[toe] = (1, last if bone is None else bone)
    return plan


def _turned(
    body: RetargetBody, plan: _Plan, off: Bools, orientations: Floats, rotations: Floats
) -> tuple[Floats, Floats]:
    """World and local orientations of the joints in `plan`, corrected where `off` is true.

    Args:
        body: The body.
        plan: P joints.
        off: Mask of corrections of part 0 and part 1 of the limb. Shape (T, 2).
        orientations: World orientations of all joints. Shape (T, J, 4).
        rotations: Local rotations of all joints. Shape (T, J, 4).

    Returns:
        Two arrays (T, P, 4).
    """
    world, local = orientations.copy(), rotations.copy()
    for joint, (part, bone) in plan.items():
        rows = off[:, part]
        axis = quat_rotate(quat_conjugate(body.orientations[joint]), bone)
        half = np.array([0.0, *(axis / np.linalg.norm(axis))])
        world[rows, joint] = quat_multiply(world[rows, joint], half)
    for joint, (part, _) in plan.items():
        parent = body.skeleton.parents[joint]
        above = plan.get(parent)
        rows = off[:, part] | (off[:, above[0]] if above is not None else False)
        base = quat_multiply(world[rows, parent], body.skeleton.rest[joint])
        local[rows, joint] = quat_multiply(quat_conjugate(base), world[rows, joint])
    joints = list(plan)
    return world[:, joints], local[:, joints]
