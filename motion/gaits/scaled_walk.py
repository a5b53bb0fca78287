"""The healthy walk adapted to another body: other steps, limb lengths and torsions.

Nothing is simulated or learned here. The stride is changed by scaling the swings about the mean
posture; then the paths of hips and feet are scaled by leg length, and the legs of the body
follow them: knees by the law of cosines, in the planes of the healthy legs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ambulo.configs.arrays import Floats
from ambulo.configs.gait import GaitSpace
from ambulo.configs.healthy_gait import HEALTHY
from ambulo.motion.gaits.cycle import Cycle
from ambulo.motion.gaits.healthy_walk import healthy_walk
from ambulo.motion.gaits.skeleton import INWARDS, LETTERS, gait_skeleton, leg_length
from ambulo.motion.gaits.soles import Soles, flat_soles, grounded, no_slip
from ambulo.motion.gaits.variants import with_amplitude, with_lifted_feet
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
"""Fraction of a femur's torsion visible at knee and foot; the hip compensates the rest (our
choice)."""
STRAIGHT = 0.995
"""Longest distance from hip to ankle, over the leg's length."""
LIST_SHARE, LIST_LIMIT = 0.5, 0.07
"""Fraction of the legs' difference that the pelvis' list compensates, and the largest list,
[rad]; the longer leg bends for the rest."""
FULL_STRIDE, LIFT = 1.25, 3.2
"""Stride at which the swing foot clears the ground by itself, and its additional lift per unit
of stride below it, in fractions of `variants.LIFT`: the captured foot clears the ground by 8
mm, and bodies with other legs stumble."""
STRIDE_TRIES = 4
"""Iterations of the search for the amplitude that gives a stride."""


def gait_cycle(space: GaitSpace, values: ArrayLike, soles: Soles) -> Cycle:
    """The gait with parameters `values` (P,) on its body, whose soles are `soles`.

    Its ground contact is not exact yet; the preparation of references corrects it, and computes
    torques.
    """
    named = space.named(values)
    skeleton = gait_skeleton(space, values)
    legs = float(leg_length(space, values))
    strided = _strided(round(named["stride"], 6))
    moved = _on_body(strided, skeleton, legs / HEALTHY.leg_length, named)
    period = 1.0 / float(HEALTHY.rate_of(named["cadence"], legs))
    flat, _ = flat_soles(replace(moved, period=period), soles)
    # Without this correction the feet would slip.
    stride = float(HEALTHY.stride_of(named["stride"], legs))
    return flat.lengthened(np.array([stride - float(flat.stride[0]), 0.0, 0.0]))


@lru_cache(maxsize=256)
def _strided(stride: float) -> Cycle:
    """Return the healthy walk with its stride scaled, feet on the ground."""
    base = healthy_walk(PHASES)
    soles = human23_soles(base.skeleton)
    target = stride * HEALTHY.stride_length
    lift = max(0.0, LIFT * (FULL_STRIDE - stride))
    factor, result = stride, base
    for _ in range(STRIDE_TRIES):
        swung = with_amplitude(base, factor)
        if lift > 0.0:
            swung = with_lifted_feet(swung, soles, lift)
        result = no_slip(flat_soles(swung, soles)[0], soles)[0]
        factor *= target / float(result.stride[0])
    return grounded(result, soles)


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
    positions, turns = cycle.kinematics()
    legs = {letter: _Leg.of(skeleton, letter) for letter in LETTERS.values()}
    rotations = cycle.rotations.copy()
    root_turns = quat_multiply(_list(legs)[None], turns[:, 0])
    rotations[:, 0] = root_turns
    # The trunk stays as upright as the healthy one.
    spine = skeleton.index("Spine")
    upright = quat_multiply(quat_conjugate(root_turns), turns[:, 0])
    rotations[:, spine] = quat_multiply(upright, rotations[:, spine])
    old = cycle.skeleton
    hips = scale * 0.5 * sum(positions[:, old.index(f"Femur{x}")] for x in legs)
    middle = 0.5 * (legs["L"].hip + legs["R"].hip)
    root = hips - quat_rotate(root_turns, np.tile(middle, (len(cycle), 1)))
    ankles = {}
    for letter in legs:
        ankles[letter] = scale * positions[:, old.index(f"Talus{letter}")]
        # Feet are scaled like the body, not like the legs.
        higher = (named["global"] - scale) * _ankle_height(old, letter)
        ankles[letter][:, 2] += higher
    root[:, 2] -= max(
        leg.drop(root, root_turns, ankles[letter]) for letter, leg in legs.items()
    )
    for side, letter in LETTERS.items():
        torsion = INWARDS[side] * named[f"femur_torsion_{side}"]
        own = {
            name: turns[:, old.index(f"{name}{letter}")] for name in ("Femur", "Talus")
        }
        result = legs[letter].follow(root, root_turns, ankles[letter], own, torsion)
        for name, local in zip(("Femur", "Tibia", "Talus"), result, strict=True):
            rotations[:, skeleton.index(name + letter)] = local
    return Cycle(skeleton, cycle.period, scale * cycle.stride, root, rotations)


@dataclass(frozen=True, eq=False)
class _Leg:
    """One leg of a body."""

    hip: Floats
    """Position in the pelvis, [m]. Shape (3,)."""
    upper: float
    """Length of the thigh, [m]."""
    lower: float
    """Length of the shank, [m]."""

    @classmethod
    def of(cls, skeleton: Skeleton, letter: str) -> _Leg:
        """The leg of the side `letter`."""
        hip, knee, ankle = (
            skeleton.offsets[skeleton.index(name + letter)]
            for name in ("Femur", "Tibia", "Talus")
        )
        return cls(hip, float(np.linalg.norm(knee)), float(np.linalg.norm(ankle)))

    @property
    def longest(self) -> float:
        """Longest distance from hip to ankle, [m]."""
        return STRAIGHT * (self.upper + self.lower)

    def hip_to_ankle(self, root: Floats, root_turns: Floats, ankle: Floats) -> Floats:
        """From the hip to the ankle in the world, [m]. Shape (N, 3)."""
        hip = quat_rotate(root_turns, np.tile(self.hip, (len(root), 1)))
        return np.asarray(ankle - root - hip)

    def drop(self, root: Floats, root_turns: Floats, ankle: Floats) -> float:
        """Lowering of the root with which the leg reaches the ankle, [m], at least 0."""
        leg = self.hip_to_ankle(root, root_turns, ankle)
        level = np.hypot(leg[:, 0], leg[:, 1])
        reach = np.sqrt(np.maximum(self.longest**2 - level**2, 0.0))
        return max(0.0, float((-leg[:, 2] - reach).max()))

    def follow(
        self,
        root: Floats,
        root_turns: Floats,
        ankle: Floats,
        healthy: dict[str, Floats],
        torsion: float,
    ) -> tuple[Floats, Floats, Floats]:
        """Local rotations of hip, knee and ankle, (N, 4) each.

        Args:
            root: Positions of the root, [m]. Shape (N, 3).
            root_turns: Its orientations. Shape (N, 4).
            ankle: Requested positions of the ankle, [m]. Shape (N, 3).
            healthy: World orientations of the healthy thigh and foot. Shape (N, 4).
            torsion: Rotation of the knee in the thigh about the upward axis, [rad].
        """
        shown = SHARED_TORSION * torsion
        leg = self.hip_to_ankle(root, root_turns, ankle)
        length = np.linalg.norm(leg, axis=1)
        along = leg / length[:, None]
        # The knee's axis is that of the healthy leg, orthogonal to the line to the ankle.
        axis = quat_rotate(
            quat_from_rotvec(-shown * along), quat_rotate(healthy["Femur"], _AXIS_Y)
        )
        axis = axis - np.sum(axis * along, axis=1, keepdims=True) * along
        axis = axis / np.linalg.norm(axis, axis=1, keepdims=True)
        far = np.minimum(length, self.longest)
        bend = np.pi - _angle(self.upper, self.lower, far)
        # The thigh is ahead of that line by the triangle's angle at the hip.
        ahead = _angle(self.upper, far, self.lower)
        thigh = quat_rotate(quat_from_rotvec(-ahead[:, None] * axis), along)
        knee = _frame(thigh, axis)
        femur = quat_multiply(knee, _about_z(-torsion)[None])
        bent = quat_from_rotvec(bend[:, None] * _AXIS_Y[0])
        shin = quat_multiply(knee, bent)
        foot = quat_multiply(_about_z(shown)[None], healthy["Talus"])
        return (
            quat_multiply(quat_conjugate(root_turns), femur),
            bent,
            quat_multiply(quat_conjugate(shin), foot),
        )


def _list(legs: dict[str, _Leg]) -> Floats:
    """The pelvis' list that lowers the hip of the shorter leg, wxyz. Shape (4,)."""
    left, right = legs["L"], legs["R"]
    gap = left.upper + left.lower - right.upper - right.lower
    wide = float(left.hip[1] - right.hip[1])
    angle = np.clip(LIST_SHARE * gap / wide, -LIST_LIMIT, LIST_LIMIT)
    return np.asarray(quat_from_rotvec(np.array([float(angle), 0.0, 0.0])))


def _about_z(angle: float) -> Floats:
    return np.asarray(quat_from_rotvec(np.array([0.0, 0.0, angle])))


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
