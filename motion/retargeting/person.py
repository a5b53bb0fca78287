"""Plausibility of a read motion for a person: its size, and its up axis.

Files do not state their unit and axes; neither is changed here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.body import NEEDED, SIDES
from ambulo.motion.retargeting.gravity import DIRECTIONS, sampled_points, upright_frames
from ambulo.motion.roles import roles_of

ADULT_LEGS = (0.65, 1.05)
"""Range of adults' leg lengths, hip to ankle, [m]: people of 1.35 m to 2.15 m."""
TYPICAL_LEGS = 0.83
"""Length of the legs of the people in the CMU data base, [m]."""
FRAMES = 60
"""Number of frames to examine, evenly over the clip."""


@dataclass(frozen=True)
class PersonFit:
    """Size and posture of a body in a motion."""

    legs: float | None
    """Length of the legs, hip to ankle, [m]; None if unknown."""
    upright: float | None
    """Fraction of frames in which the head is over the feet; None without known joints."""

    @property
    def is_adult(self) -> bool:
        """Whether the legs have an adult's length, as far as known."""
        return self.legs is None or ADULT_LEGS[0] <= self.legs <= ADULT_LEGS[1]

    def size_text(self) -> str:
        """Describe the length of the legs relative to adults'."""
        if self.legs is None:
            return "no legs are known by which to tell"
        low, high = ADULT_LEGS
        known = "an adult's" if self.is_adult else f"adults' are {low:g} to {high:g} m"
        return f"legs of {self.legs:.2g} m, {known}"

    def upright_text(self) -> str:
        """Describe how often the head is over the feet."""
        if self.upright is None:
            return "no joints are known by which to tell"
        return f"head over feet in {100.0 * self.upright:.0f} % of the frames"

    def unit_fault(self, metres: float) -> str:
        """Reason why a unit of `metres` fits no adult, with one that does; "" if it fits."""
        if self.legs is None or self.is_adult:
            return ""
        better = metres * TYPICAL_LEGS / self.legs
        return (
            f"units: no known unit fits, {metres:.3g} m gives {self.size_text()}; "
            f"ambulo data convert --units {better:.3g} suits an adult"
        )


def person_fit(motion: Motion) -> PersonFit:
    """Return size and posture of the body in a motion, Z up."""
    roles = roles_of(motion.skeleton)
    if any(role not in roles for role in NEEDED):
        return PersonFit(None, None)
    points = sampled_points(motion, FRAMES)
    upright = upright_frames(points, roles, DIRECTIONS[:1])
    return PersonFit(_legs(points, roles), float(upright.mean()))


def _legs(points: Floats, roles: dict[str, int]) -> float | None:
    """Median length of the legs of points (n, P, 3), mean of both sides, [m]; None: none."""
    lengths = []
    for side in SIDES:
        joints = [roles.get(side + limb, -1) for limb in ("thigh", "shin", "foot")]
        if min(joints) >= 0:
            bones = np.linalg.norm(np.diff(points[:, joints], axis=1), axis=-1)
            lengths.append(float(np.median(bones.sum(axis=1))))
    return (float(np.mean(lengths)) or None) if lengths else None
