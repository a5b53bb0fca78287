"""Soles and the ground: contact points of a body, and placing of feet on the ground."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from ambulo.configs.arrays import Bools, Floats
from ambulo.motion.retargeting.body import SIDES, RetargetBody
from ambulo.motion.rotations import quat_conjugate, quat_rotate

HEEL = 0.01
"""Distance behind the ankle at rest from which a tip marks the heel, [m]."""
STEP = 0.06
"""Height above which a foot in contact stands on an object, [m]."""
SLOPE = 0.08
"""Height range of contacts on one floor, [m]."""
DEEP = 0.2
"""Depth below the ground beyond which a foot is not lifted to it, [m]."""
SUNK = 0.1
"""Height of the lowest contacts above which a clip does not touch the ground, [m]."""
BLEND = 0.05
"""Standard deviation of the smoothing of the feet's heights in time, [s]."""


def end_points(body: RetargetBody, role: str) -> list[tuple[int, Floats]]:
    """Joints and tips from a role's joint on: each one's joint and position there, (3,)."""
    joint = body.roles.get(role)
    if joint is None:
        return []
    skeleton = body.skeleton
    inside = skeleton.branch(joint)
    points = [(joint, np.zeros(3)) for joint in inside]
    points += [
        (joint, skeleton.tips[tip])
        for tip, joint in enumerate(skeleton.tip_parents)
        if joint in inside
    ]
    return points


def lowest_at_rest(body: RetargetBody) -> float:
    """World height of the lowest point of the feet at rest, [m]; 0 without feet."""
    heights = [
        float(
            body.positions[joint, 2] + quat_rotate(body.orientations[joint], place)[2]
        )
        for side in SIDES
        for joint, place in end_points(body, side + "foot")
    ]
    return min(heights, default=0.0)


def sole_points(body: RetargetBody, side: str) -> list[tuple[int, Floats]]:
    """Points of a sole: the joint of each, and its position there, (3,), [m].

    The tips, and the points at sole height below the ends of the foot's own bone; below the
    ankle too if no tip marks the heel.
    """
    foot = body.roles.get(side + "foot")
    if foot is None:
        return []
    low = lowest_at_rest(body)
    points = []
    heel = False
    for joint, place in end_points(body, side + "foot"):
        is_tip = bool(np.any(place))
        at = body.positions[joint] + quat_rotate(body.orientations[joint], place)
        if not is_tip and joint == foot:
            continue
        holder = joint
        if not is_tip:
            at = np.array([at[0], at[1], low])
            holder = body.skeleton.parents[joint]
        heel = heel or (is_tip and at[0] < body.positions[foot, 0] - HEEL)
        points.append((holder, _in_frame(body, holder, at)))
    if not heel:
        below = body.positions[foot].copy()
        below[2] = low
        points.append((foot, _in_frame(body, foot, below)))
    return points


def _in_frame(body: RetargetBody, joint: int, point: Floats) -> Floats:
    """The world point (3,) at rest in the frame of `joint`."""
    place: Floats = quat_rotate(
        quat_conjugate(body.orientations[joint]), point - body.positions[joint]
    )
    return place


def sole_heights(body: RetargetBody, positions: Floats, orientations: Floats) -> Floats:
    """Height of the lowest point of each sole, left and right, [m]. Shape (T, 2).

    Args:
        body: The body, J joints.
        positions: World positions of its joints, [m]. Shape (T, J, 3).
        orientations: Their world orientations. Shape (T, J, 4).
    """
    heights = np.full((len(positions), 2), np.inf)
    for foot, side in enumerate(SIDES):
        for joint, place in sole_points(body, side):
            at = positions[:, joint] + quat_rotate(orientations[:, joint], place)
            heights[:, foot] = np.minimum(heights[:, foot], at[:, 2])
    return np.where(np.isfinite(heights), heights, 0.0)


def ground_height(soles: Floats, contacts: Bools) -> float:
    """Estimated height of the ground, [m], from soles (T, 2) and contacts (T, 2).

    The middle of the low end of the soles in contact. If that is more than `SUNK` above 0, the
    clip does not touch the ground (it climbs or sits on an object): then 0.
    """
    touching = soles[contacts]
    if not len(touching):
        touching = np.array([np.percentile(soles, 2.0)])
    low = float(np.percentile(touching, 15.0))
    ground = float(np.median(touching[np.abs(touching - low) < SLOPE]))
    return ground if ground < SUNK else 0.0


def body_lift(lifts: Floats, fps: float) -> Floats:
    """Component of the feet's corrections (T, 2) that the whole body takes, [m]. (T,).

    Their mean, slower than a step: a floor that was not level in the capture volume (CMU's
    falls by some centimetres over a few metres) moves the body with it.
    """
    mean: Floats = gaussian_filter1d(
        lifts.mean(axis=1), 3.0 * BLEND * fps, mode="nearest"
    )
    return mean


def height_corrections(soles: Floats, contacts: Bools, fps: float) -> Floats:
    """Corrections of the heights of the feet that set stance on the ground, [m]. (T, 2).

    Args:
        soles: Heights of the soles over the ground, [m]. Shape (T, 2).
        contacts: Whether each foot is in contact. Shape (T, 2).
        fps: Frames per second.

    Feet in contact near the ground are set on it; between contacts the correction is
    interpolated; no sole sinks into the ground. Feet that stand on objects higher or lower are
    unchanged.
    """
    frames = np.arange(len(soles))
    steady = np.zeros(soles.shape)
    for foot in range(soles.shape[1]):
        height = soles[:, foot]
        known = contacts[:, foot] & (np.abs(height) < STEP)
        if known.any():
            steady[:, foot] = np.interp(frames, frames[known], -height[known])
    spread = BLEND * fps
    smooth: Floats = gaussian_filter1d(steady, spread, axis=0, mode="nearest")
    depth = np.where((soles < 0.0) & (soles > -DEEP), -soles - smooth, 0.0)
    return smooth + _smooth_lift(depth, fps)


def hand_lifts(
    source: tuple[RetargetBody, Floats, Floats],
    target: tuple[RetargetBody, Floats, Floats],
    scale: float,
    floor: Floats,
    fps: float,
) -> Floats:
    """Lifts of the left and right hand to the source's heights, [m]. (T, 2).

    Arms of other proportions put hands into the ground on which a body leans or gets up. A hand
    under the ground is lifted to it, or to the source's depth under it.

    Args:
        source: The source's body, world positions (T, J, 3) and orientations (T, J, 4).
        target: The same of the target; its ground is at 0.
        scale: Factor on lengths of the source.
        floor: Height of the source's ground in that scale, [m]. Shape (T,).
        fps: Frames per second.
    """
    lifts = np.zeros((len(floor), len(SIDES)))
    for hand, side in enumerate(SIDES):
        own, captured = (_lowest(*posed, side + "hand") for posed in (target, source))
        if own is None or captured is None:
            continue
        limit = np.minimum(scale * captured - floor, 0.0)
        lifts[:, hand] = _smooth_lift(limit - own, fps)
    return lifts


def _lowest(
    body: RetargetBody, positions: Floats, orientations: Floats, role: str
) -> Floats | None:
    """Height of the lowest point from a role's joint on, [m], (T,); None without the role."""
    heights = [
        (positions[:, joint] + quat_rotate(orientations[:, joint], place))[:, 2]
        for joint, place in end_points(body, role)
    ]
    return np.min(heights, axis=0) if heights else None


def _smooth_lift(depth: Floats, fps: float) -> Floats:
    """A lift, smooth in time, that is nowhere less than `depth` (T, ...), [m], or 0."""
    spread = BLEND * fps
    # The largest nearby depth, so that smoothing does not lower the point again.
    size = 2 * int(np.ceil(spread)) + 1
    needed = maximum_filter1d(np.maximum(depth, 0.0), size, axis=0, mode="nearest")
    lift: Floats = gaussian_filter1d(needed, 0.5 * spread, axis=0, mode="nearest")
    return lift
