"""Rotation transfer between skeletons: mapping of joints, and their rotations.

A joint's turn is its present world orientation times the inverse of that at rest, both bodies
facing +X. A joint of the target takes the turn of the source's joint of the same role, after a
constant rotation (its alignment) of the target's bone at rest onto the source's, so that bones
have the same direction whatever the two rest poses are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.euler import axis_quat
from ambulo.motion.retargeting.body import LIMBS, SHORT, SIDES, RetargetBody
from ambulo.motion.retargeting.chains import chain_rotations
from ambulo.motion.rotations import (
    quat_between,
    quat_conjugate,
    quat_from_matrix,
    quat_multiply,
    quat_normalize,
    quat_rotate,
    quat_slerp,
    swing_twist,
)

HINGES = {"thigh": "shin", "shin": "shin", "upper_arm": "forearm", "forearm": "forearm"}
"""The hinge whose axis fixes the twist of each of these bones."""

BENT = 0.1
"""Minimum mean sine of a bend for which a hinge's axis is estimated from the motion."""


def turns_of(body: RetargetBody, orientations: Floats) -> Floats:
    """Turns (T, J, 4) of world orientations (T, J, 4) from the rest pose."""
    turns: Floats = quat_multiply(orientations, quat_conjugate(body.orientations))
    return turns


def alignments(
    source: RetargetBody, target: RetargetBody, turns: Floats
) -> dict[str, Floats]:
    """The constant rotation (4,) of every role that both have.

    Args:
        source: The skeleton that moves.
        target: The target skeleton.
        turns: The source's turns. Shape (T, J, 4).

    The trunk, shoulders and head are transferred from rest to rest. Limbs are aligned with the
    source's bones, their twist such that hinges bend in the source's planes. Hands follow the
    forearm without that twist. Feet and toes are aligned by `ambulo.motion.retargeting.feet`.
    """
    result = {
        role: np.array([1.0, 0.0, 0.0, 0.0])
        for role in target.roles
        if role in source.roles
    }
    for side in SIDES:
        for start, end in LIMBS.items():
            target_bone = target.limb_bone(side + start, side + end)
            source_bone = source.limb_bone(side + start, side + end)
            if target_bone is None or source_bone is None:
                continue
            smallest = quat_between(target_bone, source_bone)
            hinge = side + HINGES[start]
            axis = target.hinge(hinge)
            other = None
            if axis is not None:
                guess = quat_rotate(smallest, axis)
                other = source_hinge(source, hinge, turns, guess)
            if axis is not None and other is not None:
                result[side + start] = two_axes(target_bone, axis, source_bone, other)
            else:
                result[side + start] = smallest
            if start == "forearm" and side + "hand" in result:
                result[side + "hand"] = smallest
    return result


def source_hinge(
    source: RetargetBody, role: str, turns: Floats, guess: Floats
) -> Floats | None:
    """World axis at rest, (3,), about which the joint of `role` flexes.

    Args:
        source: The skeleton that moves.
        role: "left_shin", "right_shin", "left_forearm" or "right_forearm".
        turns: The source's turns. Shape (T, J, 4).
        guess: The axis about which it should flex, world, at rest. Shape (3,).

    The mean axis of the bends in the motion, seen from the bone above; if it hardly bends, or
    bends in all directions, the axis that the skeleton declares, with the sign of the guess;
    None without one.
    """
    seen, declared = _seen_hinge(source, role, turns), source.hinge(role)
    if declared is None:
        return seen
    return (
        declared if np.dot(declared, guess if seen is None else seen) > 0 else -declared
    )


def _seen_hinge(source: RetargetBody, role: str, turns: Floats) -> Floats | None:
    """Estimate the axis (3,) about which a joint bends in the motion; None if ambiguous."""
    side, limb = role.split("_", 1)
    above = next(start for start, end in LIMBS.items() if end == limb)
    first = source.bone(f"{side}_{above}", role)
    second = source.limb_bone(role, f"{side}_{LIMBS[limb]}")
    if first is None or second is None:
        return None
    first, second = first / np.linalg.norm(first), second / np.linalg.norm(second)
    upper = turns[:, source.parts[f"{side}_{above}"]]
    bend = quat_multiply(quat_conjugate(upper), turns[:, source.parts[role]])
    axes = np.cross(first, quat_rotate(bend, second))
    total: Floats = axes.sum(axis=0)
    for _ in range(2):
        size, sines = float(np.linalg.norm(total)), np.linalg.norm(axes, axis=1).sum()
        if size >= BENT * len(axes) and size >= 0.9 * sines:
            return total / size
        # Again, with bends beyond straight counted as bends about the same axis.
        total = (np.where(axes @ total < 0.0, -1.0, 1.0)[:, None] * axes).sum(axis=0)
    return None


def two_axes(
    target_bone: Floats, axis: Floats, source_bone: Floats, other: Floats
) -> Floats:
    """The rotation (4,) of a direction (3,) to another, with `axis` as near to `other`."""

    def frame(first: Floats, second: Floats) -> Floats:
        x = first / np.linalg.norm(first)
        z = np.cross(x, second)
        z = z / np.linalg.norm(z)
        return np.stack([x, np.cross(z, x), z], axis=-1)

    rotation: Floats = quat_from_matrix(
        frame(source_bone, other) @ frame(target_bone, axis).T
    )
    return rotation


def requested_orientations(
    source: RetargetBody,
    target: RetargetBody,
    turns: Floats,
    aligned: dict[str, Floats],
) -> Floats:
    """World orientations (T, J, 4) that the target's joints should take.

    Joints with a role take its turn; those between hips, chest and head interpolate the turns
    of the source's chain by their position along it; all others follow their parents.
    """
    rest = target.orientations
    requested = np.empty((len(turns), len(target.skeleton), 4))
    done: dict[int, Floats] = {
        target.parts[role]: quat_multiply(
            quat_multiply(turns[:, source.parts[role]], aligned[role]),
            rest[target.parts[role]],
        )
        for role in aligned
    }
    for joint, turn in _trunk(source, target, turns).items():
        done[joint] = quat_multiply(turn, rest[joint])
    twins = _toe_twins(target)
    for joint, parent in enumerate(target.skeleton.parents):
        if joint in done:
            requested[:, joint] = done[joint]
        elif joint in twins and twins[joint] in done:
            turn = quat_multiply(done[twins[joint]], quat_conjugate(rest[twins[joint]]))
            requested[:, joint] = quat_multiply(turn, rest[joint])
        elif parent < 0:
            requested[:, joint] = rest[joint]
        else:
            held = quat_multiply(quat_conjugate(rest[parent]), rest[joint])
            requested[:, joint] = quat_multiply(requested[:, parent], held)
    for side in SIDES:
        _twist_forearm(target, side, requested)
    return requested


def _twist_forearm(target: RetargetBody, side: str, requested: Floats) -> None:
    """Transfer the hand's twist about the forearm to the forearm, in place, if that can twist.

    A forearm whose limits make it a ball twists with the hand, as in rigs; if it is a hinge,
    the wrist twists.
    """
    forearm, hand = side + "forearm", side + "hand"
    bone = target.bone(forearm, hand)
    if bone is None or not target.is_ball(forearm) or target.hinge(forearm) is None:
        return
    above, below = target.roles[forearm], target.roles[hand]
    frames = [
        quat_multiply(requested[:, joint], quat_conjugate(target.orientations[joint]))
        for joint in (above, below)
    ]
    between = quat_multiply(quat_conjugate(frames[0]), frames[1])
    twist = swing_twist(between, bone / np.linalg.norm(bone))[1]
    turned = quat_multiply(frames[0], twist)
    requested[:, above] = quat_multiply(turned, target.orientations[above])


def _toe_twins(target: RetargetBody) -> dict[int, int]:
    """Joints of a foot without a role: the toe that each follows."""
    twins: dict[int, int] = {}
    for side in SIDES:
        foot, toe = target.parts.get(side + "foot"), target.roles.get(side + "toe")
        if foot is not None and toe is not None:
            twins |= {j: toe for j in target.skeleton.children(foot) if j != toe}
    return twins


def _trunk(
    source: RetargetBody, target: RetargetBody, turns: Floats
) -> dict[int, Floats]:
    """Turns (T, 4) of the target's joints between hips and chest, chest and head."""
    result: dict[int, Floats] = {}
    for start, end in (("hips", "chest"), ("chest", "head")):
        ends = (start, end)
        if not all(role in body.roles for role in ends for body in (source, target)):
            continue
        source_path = source.skeleton.path(source.parts[start], source.roles[end])
        target_path = target.skeleton.path(target.parts[start], target.roles[end])
        if len(source_path) < 2 or len(target_path) < 3:
            continue
        # The bone that leaves the chest belongs to the chest: a neck starts above it.
        skip = int(start == "chest")
        if len(source_path) - skip < 2:
            for joint in target_path[1:-1]:
                result[joint] = quat_slerp(
                    turns[:, source_path[0]], turns[:, source_path[-1]], np.array(0.5)
                )
            continue
        positions = _places(source, source_path[skip:])
        for joint, low, high in zip(
            target_path[1:-1],
            *_spans(target, target_path[skip:], len(target_path) - 2),
            strict=True,
        ):
            result[joint] = _mean_turn(turns, source_path[skip:], positions, low, high)
    return result


def _places(body: RetargetBody, path: Sequence[int]) -> Floats:
    """Position of each joint along `path`, from 0 to 1. Shape (len(path),)."""
    steps = np.linalg.norm(np.diff(body.positions[list(path)], axis=0), axis=1)
    sums = np.concatenate([[0.0], np.cumsum(steps)])
    if sums[-1] < SHORT:
        return np.linspace(0.0, 1.0, len(path))
    places: Floats = sums / sums[-1]
    return places


def _spans(
    body: RetargetBody, path: Sequence[int], count: int
) -> tuple[Floats, Floats]:
    """Start and end along `path` of the bones of the last `count` joints before its end."""
    positions = _places(body, path)
    return positions[-1 - count : -1], positions[-count:]


def _mean_turn(
    turns: Floats, path: Sequence[int], positions: Floats, low: float, high: float
) -> Floats:
    """The mean turn (T, 4) of the bones of `path` between positions `low` and `high`."""
    if high - low < 1e-6:
        high = low + 1e-6
    weights = np.minimum(positions[1:], high) - np.maximum(positions[:-1], low)
    weights = np.maximum(weights, 0.0)
    if not weights.any():
        weights[-1] = 1.0
    total = np.zeros((len(turns), 4))
    first = turns[:, path[int(np.argmax(weights))]]
    for weight, joint in zip(weights, path[:-1], strict=True):
        if weight > 0.0:
            turn = turns[:, joint]
            sign = np.where(
                np.sum(turn * first, axis=-1, keepdims=True) < 0.0, -1.0, 1.0
            )
            total += weight * sign * turn
    mean: Floats = quat_normalize(total)
    return mean


def constrained_rotations(
    target: RetargetBody, requested: Floats
) -> tuple[Floats, Floats]:
    """Local rotations nearest to `requested` world orientations (T, J, 4).

    Hinges keep only the twist about their axis and fixed joints none; the remainder goes to
    their children. Chains of hinges are solved for the orientation of their last.

    Returns:
        The rotations, and `requested` updated for the chains' other joints and for feet that
            cannot rotate freely, so that no other joint compensates for these. Both (T, J, 4).
    """
    skeleton, chains = target.skeleton, target.chains
    firsts = {chain[0]: role for role, chain in chains.items()}
    inside = {joint for chain in chains.values() for joint in chain}
    stiff = {
        target.parts[role]
        for role in ("left_foot", "right_foot")
        if role in target.roles and not target.turns_freely(role)
    }
    local = np.empty_like(requested)
    reached = np.empty_like(requested)
    for joint, (parent, order) in enumerate(
        zip(skeleton.parents, skeleton.orders, strict=True)
    ):
        base = np.broadcast_to(skeleton.rest[joint], requested[:, joint].shape)
        if parent >= 0:
            base = quat_multiply(reached[:, parent], base)
        turn = quat_multiply(quat_conjugate(base), requested[:, joint])
        if joint in inside:
            if joint in firsts:
                chain = chains[firsts[joint]]
                local[:, chain] = chain_rotations(
                    skeleton, chain, target.hinge_axes, reached[:, parent],
                    requested[:, chain[-1]], _soft_axes(target, firsts[joint], requested),
                )  # fmt: skip
            turn = local[:, joint]
        elif not order:
            turn = np.broadcast_to(axis_quat("X", np.zeros(())), turn.shape)
        elif len(order) == 1:
            turn = swing_twist(turn, target.hinge_axes[joint])[1]
        local[:, joint] = turn
        reached[:, joint] = quat_multiply(base, turn)
    lying = sorted((inside - {chain[-1] for chain in chains.values()}) | stiff)
    if lying:
        requested = requested.copy()
        requested[:, lying] = reached[:, lying]
    return quat_normalize(local), requested


def _soft_axes(body: RetargetBody, role: str, requested: Floats) -> Floats:
    """Axes (T, 3) of tolerated errors of a part that cannot rotate freely; zeros if it can.

    Feet lie flat first, and bones first have their directions.
    """
    axes = np.zeros((len(requested), 3))
    side, _, limb = role.partition("_")
    bone = body.limb_bone(role, f"{side}_{LIMBS.get(limb, '')}")
    if body.turns_freely(role):
        return axes
    if limb == "foot":
        axes[:, 2] = 1.0
    elif bone is not None:
        part = body.parts[role]
        own = quat_rotate(quat_conjugate(body.orientations[part]), bone)
        axes = quat_rotate(requested[:, part], own / np.linalg.norm(own))
    return axes
