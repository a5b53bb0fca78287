"""Proportions of a player's body: human23 with trunk, arms and legs of their own lengths.

Three ratios describe a body: the lengths of trunk (with neck, head, widths of hips and
shoulders), arms and legs (with feet), each over that of human23, whose stature is 1.75 m.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache

import numpy as np

from ambulo.configs.arrays import Floats, Ints, Singles
from ambulo.configs.errors import IKError, MotionError
from ambulo.ik.avatar.layout import CLAVICLES, FORE, THIGHS, THUMB
from ambulo.ik.trackers.sizes import CORRECTION, VARIANCE
from ambulo.motion.retargeting.body import SIDES, RetargetBody, retarget_body
from ambulo.motion.retargeting.lengths import leg_length
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

PARTS = ("trunk", "arm", "leg")
"""Parts of the body, in the order of every array of ratios."""
TRUNK, ARM, LEG = range(3)

SMALLEST, LARGEST = 0.45, 1.6
"""Range of people's ratios: from a small child's to beyond the tallest person's."""


@dataclass(frozen=True)
class BodyShape:
    """Lengths of a body's parts over those of human23."""

    trunk: float = 1.0
    """Trunk, neck and head, widths of hips and shoulders."""
    arm: float = 1.0
    """Upper arm and forearm, hand."""
    leg: float = 1.0
    """Thigh, shin, foot."""

    def __post_init__(self) -> None:
        """Check the ratios; `IKError` names one that is out of range."""
        for name, value in zip(PARTS, self.ratios, strict=True):
            if not SMALLEST <= value <= LARGEST:
                raise IKError(
                    f"body shape: {name}: the ratio to human23 must be from {SMALLEST:g} "
                    f"to {LARGEST:g}, got {value:g}"
                )

    @property
    def ratios(self) -> Floats:
        """The three ratios, in the order of `PARTS`. Shape (3,)."""
        return np.array([self.trunk, self.arm, self.leg])

    @property
    def scale(self) -> float:
        """Standing height over that of human23."""
        return scale_of(self.ratios)

    @property
    def stature(self) -> float:
        """Standing height, [m]."""
        return STATURE * self.scale


STATURE = 1.75
"""Standing height of human23, [m]."""
_LEG_SHARE = 0.53
"""Height of the hip joints over the stature (Drillis and Contini 1966)."""


def scale_of(ratios: Floats) -> float:
    """Standing height over that of human23, from ratios (3,)."""
    return float(_LEG_SHARE * ratios[LEG] + (1.0 - _LEG_SHARE) * ratios[TRUNK])


@cache
def parts_of_joints() -> Ints:
    """The part that each joint's offset belongs to, an index of `PARTS`. Shape (23,)."""
    parts = np.full(len(_human()), TRUNK)
    for thigh in THIGHS:
        parts[thigh + 1 : thigh + THUMB + 1] = LEG
    for clavicle in CLAVICLES:
        parts[clavicle + FORE : clavicle + FORE + 2] = ARM
    parts.setflags(write=False)
    return parts


def sized_offsets(ratios: Floats) -> Floats:
    """Offsets of human23's joints with these ratios (..., 3), [m]. Shape (..., 23, 3).

    The root's offset puts the soles on the ground at rest.
    """
    skeleton, ratios = _human(), np.asarray(ratios, dtype=np.float64)
    offsets: Floats = skeleton.offsets * ratios[..., parts_of_joints(), None]
    legs = -skeleton.offsets[THIGHS[0], 2]
    height = skeleton.offsets[0, 2]
    offsets[..., 0, :] = 0.0
    offsets[..., 0, 2] = legs * ratios[..., TRUNK] + (height - legs) * ratios[..., LEG]
    return offsets


def sized_skeleton(shape: BodyShape) -> Skeleton:
    """Return human23 with the lengths of `shape`."""
    skeleton, ratios = _human(), shape.ratios
    tips = skeleton.tips.copy()
    parts = parts_of_joints()
    for tip, joint in enumerate(skeleton.tip_parents):
        tips[tip] *= ratios[parts[joint]]
    return skeleton.replace(offsets=sized_offsets(ratios), tips=tips)


def shape_of(skeleton: Skeleton) -> BodyShape:
    """Measure the proportions of a skeleton whose joints have roles.

    Missing parts (arms, a head) are assumed in proportion to the legs.

    Raises:
        MotionError: It lacks hips, thighs or legs, or its proportions are no person's.
    """
    body, human = retarget_body(skeleton), retarget_body(_human())
    leg = leg_length(body) / leg_length(human)
    trunk = _ratio(
        body, human, (("hips", "chest"), ("chest", "neck"), ("neck", "head"))
    )
    arms = [
        _ratio(body, human, ((side + "upper_arm", side + "forearm"),
                             (side + "forearm", side + "hand")))
        for side in SIDES
    ]  # fmt: skip
    given = [arm for arm in arms if arm is not None]
    try:
        return BodyShape(
            trunk=leg if trunk is None else trunk,
            arm=leg if not given else float(np.mean(given)),
            leg=leg,
        )
    except IKError as error:
        raise MotionError(f"{skeleton.name}: {error}") from None


def _ratio(
    body: RetargetBody, human: RetargetBody, bones: tuple[tuple[str, str], ...]
) -> float | None:
    """Length of connected `bones` over human23's; None if `body` lacks the ends."""
    start, end = bones[0][0], bones[-1][1]
    if body.bone(start, end) is None:
        return None
    middle = [a for a, _ in bones[1:] if a in body.roles]
    stops = [start, *middle, end]
    pairs = list(itertools.pairwise(stops))
    length = sum(body.length(a, b) for a, b in pairs)
    return length / sum(human.length(a, b) for a, b in pairs)


@cache
def _human() -> Skeleton:
    return load_skeleton("human23")


PRIOR = 0.06
"""Standard deviation of the logarithms of people's proportions around the first guess."""
CORRELATED = 1.0
"""Time after which the network's corrections count as a new measurement, [s]."""
SETTLED = 1e-4
"""Smallest change of the logarithms that updates the body."""


class ShapeEstimate:
    """Ratios of trunk, arms and legs, with their uncertainty.

    The network predicts corrections of the assumed proportions and their variances. A Kalman
    filter of a constant weighs them; consecutive ones count as one per `CORRELATED` seconds.
    """

    def __init__(self, given: BodyShape | None) -> None:
        """Start with the fixed proportions `given`, or with those of human23."""
        self._fixed = given is not None
        self.ratios: Floats = (BodyShape() if given is None else given).ratios
        self._variance = np.full(3, PRIOR**2)
        self._pending = np.zeros(3)

    def update(self, output: Singles, interval: float) -> bool:
        """Process the network's `output` (151,); returns whether the ratios changed."""
        if self._fixed:
            return False
        correction = output[CORRECTION : CORRECTION + 3].astype(np.float64)
        noise = np.exp(
            np.clip(output[VARIANCE : VARIANCE + 3].astype(np.float64), -12.0, 4.0)
        )
        noise *= CORRELATED / interval
        gain = self._variance / (self._variance + noise)
        self._variance *= 1.0 - gain
        self._pending += gain * np.clip(correction, -0.3, 0.3)
        if np.abs(self._pending).max() < SETTLED:
            return False
        self.ratios = np.clip(self.ratios * np.exp(self._pending), SMALLEST, LARGEST)
        self._pending[:] = 0.0
        return True
