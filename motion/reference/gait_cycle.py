"""The healthy walk as another body takes it: longer or shorter steps, limbs and torsions.

Nothing here is simulated or learned. The stride is made by larger or smaller swings about
the mean posture; then the paths of hips and feet are scaled by leg length, and the legs of
the body follow them: knees by the law of cosines, in the planes of the healthy legs.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ambulo.configs.gait import HEALTHY, GaitSpace
from ambulo.motion.gait_skeleton import (
    INWARDS,
    LETTERS,
    gait_skeleton,
    leg_length,
)
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.motion import Floats
from ambulo.motion.reference.cycle import Cycle
from ambulo.motion.reference.healthy_walk import healthy_walk
from ambulo.motion.reference.soles import Soles, flat_soles, grounded, no_slip
from ambulo.motion.reference.variants import with_amplitude, with_lifted_feet
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_matrix,
    quat_from_rotvec,
    quat_multiply,
    quat_rotate,
)
from ambulo.motion.skeleton import Skeleton

PHASES = 128
"""Samples of a cycle."""
SHARED_TORSION = 0.5
"""Part of a femur's torsion that knee and foot show; the hip takes the rest (our choice)."""
STRAIGHT = 0.995
"""Longest distance from hip to ankle, over the leg's length."""
LIST_SHARE, LIST_LIMIT = 0.5, 0.07
"""Part of the difference of the legs that the pelvis' list makes up for, and the largest
list, [rad]; the longer leg bends for the rest."""
FULL_STRIDE, LIFT = 1.25, 3.2
"""Stride at which the swinging foot is high enough by itself, and how much it is drawn up
for each unit of stride below it, in shares of `variants.LIFT`: the captured foot clears
the ground by 8 mm, and bodies with other legs stumble."""
STRIDE_TRIES = 4
"""Trials of the swings' size that makes a stride."""


def gait_cycle(space: GaitSpace, values: ArrayLike, soles: Soles) -> Cycle:
    """The gait with parameters `values` (P,) on its body, whose soles are `soles`.

    Not yet on the ground to the millimetre: `motion.reference.prepare.physical_cycle`
    does that, and makes its torques.
    """
    named = space.named(values)
    skeleton = gait_skeleton(space, values)
    legs = float(leg_length(space, values))
    strided = _strided(round(named["stride"], 6))
    moved = _on_body(strided, skeleton, legs / HEALTHY.leg_length, named)
    period = 1.0 / float(HEALTHY.rate_of(named["cadence"], legs))
    cycle = Cycle(skeleton, period, moved.stride, moved.root_positions, moved.rotations)
    flat, _ = flat_soles(cycle, soles)
    return _with_stride(flat, float(HEALTHY.stride_of(named["stride"], legs)))


@lru_cache(maxsize=256)
def _strided(stride: float) -> Cycle:
    """The healthy walk with a stride so many times as long, feet on the ground."""
    base, soles = healthy_walk(PHASES), _healthy_soles()
    wanted = stride * HEALTHY.stride_length
    lift = max(0.0, LIFT * (FULL_STRIDE - stride))
    factor, found = stride, base
    for _ in range(STRIDE_TRIES):
        swung = with_amplitude(base, factor)
        if lift > 0.0:
            swung = with_lifted_feet(swung, soles, lift)
        found = no_slip(flat_soles(swung, soles)[0], soles)[0]
        factor *= wanted / float(found.stride[0])
    return grounded(found, soles)


def _with_stride(cycle: Cycle, length: float) -> Cycle:
    """The cycle with a stride of `length`, [m]; feet slip by what they did not go."""
    change = np.array([length - float(cycle.stride[0]), 0.0, 0.0])
    share = np.arange(len(cycle))[:, None] / len(cycle)
    return cycle.with_root(cycle.root_positions + share * change, cycle.stride + change)


def _healthy_soles() -> Soles:
    """Soles of the canonical skeleton: heel, balls and toes, as its simulated body's."""
    return human23_soles(healthy_walk(PHASES).skeleton)


def human23_soles(skeleton: Skeleton) -> Soles:
    """Points of a human23's soles: both feet's heel, both balls and the toes' ends."""
    joints, offsets, sides = [], [], []
    for side, letter in LETTERS.items():
        ankle = skeleton.index(f"Talus{letter}")
        tips = dict(zip(skeleton.tip_parents, skeleton.tips, strict=True))
        heel = tips[ankle]
        points = [(ankle, heel)]
        for toe in (
            skeleton.index(f"FootPinky{letter}"),
            skeleton.index(f"FootThumb{letter}"),
        ):
            ball = skeleton.offsets[toe] * [1.0, 1.0, 0.0] + [0.0, 0.0, heel[2]]
            points += [(ankle, ball), (toe, tips[toe])]
        joints += [joint for joint, _ in points]
        offsets += [place for _, place in points]
        sides += [int(side == "right")] * len(points)
    return Soles(tuple(joints), np.array(offsets), 0.0, tuple(sides))


def _on_body(
    cycle: Cycle, skeleton: Skeleton, scale: float, named: dict[str, float]
) -> Cycle:
    """The healthy `cycle` on `skeleton`, whose legs are `scale` times as long."""
    places, turns = forward_kinematics(
        cycle.skeleton, cycle.root_positions, cycle.rotations
    )
    rotations = cycle.rotations.copy()
    index, old = skeleton.index, cycle.skeleton
    lengths = {
        letter: [
            float(np.linalg.norm(skeleton.offsets[index(name + letter)]))
            for name in ("Tibia", "Talus")
        ]
        for letter in LETTERS.values()
    }
    # Listing lowers the hip of the shorter leg.
    gap = sum(lengths["L"]) - sum(lengths["R"])
    wide = float(
        skeleton.offsets[index("FemurL"), 1] - skeleton.offsets[index("FemurR"), 1]
    )
    angle = float(np.clip(LIST_SHARE * gap / wide, -LIST_LIMIT, LIST_LIMIT))
    lean = quat_from_rotvec(np.array([angle, 0.0, 0.0]))
    root_turns = quat_multiply(lean[None], turns[:, 0])
    rotations[:, 0] = root_turns
    spine = index("Spine")
    upright = quat_multiply(quat_conjugate(root_turns), turns[:, 0])
    rotations[:, spine] = quat_multiply(upright, rotations[:, spine])

    hips = {x: skeleton.offsets[index(f"Femur{x}")] for x in LETTERS.values()}
    middle = 0.5 * (hips["L"] + hips["R"])
    old_middle = 0.5 * sum(places[:, old.index(f"Femur{x}")] for x in LETTERS.values())
    root = scale * old_middle - quat_rotate(
        root_turns, np.tile(middle, (len(cycle), 1))
    )
    drop = 0.0
    ankles = {}
    for letter in LETTERS.values():
        foot = old.index(f"Talus{letter}")
        ankle = scale * places[:, foot]
        # Feet are as large as the body, not as the legs.
        sole = float(old.offsets[foot, 2]) * 0.0 + _ankle_height(old, letter)
        ankle[:, 2] += (named["global"] - scale) * sole
        ankles[letter] = ankle
        way = (
            ankle
            - root
            - quat_rotate(root_turns, np.tile(hips[letter], (len(cycle), 1)))
        )
        level = np.hypot(way[:, 0], way[:, 1])
        longest = STRAIGHT * sum(lengths[letter])
        lowest = np.sqrt(np.maximum(longest**2 - level**2, 0.0))
        drop = max(drop, float((-way[:, 2] - lowest).max()))
    root[:, 2] -= drop
    for side, letter in LETTERS.items():
        torsion = INWARDS[side] * named[f"femur_torsion_{side}"]
        shown = SHARED_TORSION * torsion
        hip = root + quat_rotate(root_turns, np.tile(hips[letter], (len(cycle), 1)))
        way = ankles[letter] - hip
        thigh_axis = quat_rotate(turns[:, old.index(f"Femur{letter}")], _AXIS_Y)
        along = way / np.linalg.norm(way, axis=1, keepdims=True)
        axis = quat_rotate(quat_from_rotvec(-shown * along), thigh_axis)
        axis -= np.sum(axis * along, axis=1, keepdims=True) * along
        axis /= np.linalg.norm(axis, axis=1, keepdims=True)
        upper, lower = lengths[letter]
        far = np.minimum(np.linalg.norm(way, axis=1), STRAIGHT * (upper + lower))
        bend = np.pi - _angle(upper, lower, far)
        # The thigh is ahead of the line to the ankle by the triangle's angle at the hip.
        ahead = _angle(upper, far, lower)
        thigh = quat_rotate(quat_from_rotvec(-ahead[:, None] * axis), along)
        knee_frame = _frame(thigh, axis)
        femur = quat_multiply(
            knee_frame, quat_from_rotvec(np.array([0.0, 0.0, -torsion]))[None]
        )
        shin = quat_multiply(knee_frame, quat_from_rotvec(bend[:, None] * _AXIS_Y[0]))
        foot = turns[:, old.index(f"Talus{letter}")]
        foot = quat_multiply(quat_from_rotvec(np.array([0.0, 0.0, shown]))[None], foot)
        rotations[:, index(f"Femur{letter}")] = quat_multiply(
            quat_conjugate(root_turns), femur
        )
        rotations[:, index(f"Tibia{letter}")] = quat_from_rotvec(
            bend[:, None] * _AXIS_Y[0]
        )
        rotations[:, index(f"Talus{letter}")] = quat_multiply(
            quat_conjugate(shin), foot
        )
    return Cycle(skeleton, cycle.period, scale * cycle.stride, root, rotations)


_AXIS_Y = np.array([[0.0, 1.0, 0.0]])


def _ankle_height(skeleton: Skeleton, letter: str) -> float:
    """Height of the ankle over the sole, [m]."""
    ankle = skeleton.index(f"Talus{letter}")
    return -float(skeleton.tips[skeleton.tip_parents.index(ankle), 2])


def _angle(a: Floats | float, b: Floats | float, c: Floats | float) -> Floats:
    """The angle between sides `a` and `b` of a triangle whose third side is `c`, [rad]."""
    cosine = (np.square(a) + np.square(b) - np.square(c)) / (2.0 * np.multiply(a, b))
    return np.asarray(np.arccos(np.clip(cosine, -1.0, 1.0)))


def _frame(down: Floats, left: Floats) -> Floats:
    """Orientations (N, 4) whose -Z is `down` and whose Y is `left`, both (N, 3)."""
    columns = np.stack([np.cross(left, -down), left, -down], axis=-1)
    return np.asarray(quat_from_matrix(columns))
