"""Masses, centres and inertias of human23's bodies from tables of body segments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.landmarks import rest_points
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import SegmentData, skeleton_file

SHARED: dict[str, dict[str, float]] = {
    "upper_trunk": {"Torso": 0.84, "ShoulderR": 0.08, "ShoulderL": 0.08},
    "head": {"Head": 0.8, "Neck": 0.2},
    "foot": {"Talus": 0.75, "FootPinky": 0.1, "FootThumb": 0.15},
}
"""How a segment's mass is divided where it has several bodies (our choice)."""

SOLE: dict[str, str] = {
    "lower_trunk": "Pelvis", "middle_trunk": "Spine", "upper_arm": "Arm",
    "forearm": "ForeArm", "hand": "Hand", "thigh": "Femur", "shank": "Tibia",
}  # fmt: skip
"""The body of each segment that has only one; limbs without their side's letter."""


@dataclass(frozen=True)
class Inertial:
    """A rigid body's mass properties in its own frame."""

    mass: float
    """[kg]."""
    center: Floats
    """Centre of mass, [m]. Shape (3,)."""
    inertia: Floats
    """About the centre, along the frame's axes, [kg m^2]. Shape (3,)."""


def inertials(
    skeleton: Skeleton, mass: float, factors: Mapping[str, float] | None = None
) -> dict[str, Inertial]:
    """Mass properties of each body of a human23 skeleton whose mass is `mass`, [kg].

    `factors` change the masses of single bodies, and their inertias alike.

    Masses, centres and radii of gyration: de Leva, Journal of Biomechanics 29(9), 1996,
    table 4, men. A segment that is several bodies gives each its share (`SHARED`); the
    largest keeps the segment's centre and gyration, the others are spheres at half of
    their bone.
    """
    segments = {s.name: s for s in skeleton_file("human23").segments}
    total = sum(s.mass * (1 if s.name in _SINGLE else 2) for s in segments.values())
    found: dict[str, Inertial] = {}
    for segment in segments.values():
        for side in ("",) if segment.name in _SINGLE else ("R", "L"):
            whole = mass * segment.mass / total
            found |= _bodies(skeleton, segment, side, whole)
    for name, factor in (factors or {}).items():
        own = found[name]
        found[name] = Inertial(own.mass * factor, own.center, own.inertia * factor)
    return {name: found[name] for name in skeleton.joints}


_SINGLE = ("head", "upper_trunk", "middle_trunk", "lower_trunk")
"""Segments that are there once."""


def _bodies(
    skeleton: Skeleton, segment: SegmentData, side: str, mass: float
) -> dict[str, Inertial]:
    """The bodies of one segment on one side."""
    shares = SHARED.get(segment.name) or {SOLE[segment.name]: 1.0}
    main = next(iter(shares))
    bodies: dict[str, Inertial] = {}
    for name, share in shares.items():
        body = name if name in skeleton.joints else name + side
        joint = skeleton.index(body)
        start, end = _ends(skeleton, segment.name, side)
        length = float(np.linalg.norm(end - start))
        if name == main:
            places = rest_points(skeleton)
            center = start + segment.at * (end - start) - places[joint]
            gyration = length * _axes(segment, end - start)
        else:
            center = 0.5 * _bone(skeleton, joint)
            gyration = np.full(3, max(0.35 * float(np.linalg.norm(center)), 0.015))
        bodies[body] = Inertial(mass * share, center, mass * share * gyration**2)
    return bodies


def _axes(segment: SegmentData, along: Floats) -> Floats:
    """Radii of gyration along X, Y, Z of a segment that lies `along` a direction.

    The table's axes are those of a hanging limb: sagittal X, transverse Y, and the bone.
    """
    sagittal, transverse, longitudinal = segment.gyration
    main = int(np.argmax(np.abs(along)))
    if main == 2:
        return np.array([sagittal, transverse, longitudinal])
    if main == 1:
        return np.array([sagittal, longitudinal, transverse])
    return np.array([longitudinal, transverse, sagittal])


def _bone(skeleton: Skeleton, joint: int) -> Floats:
    """From a joint to its first child or tip, [m]. Shape (3,)."""
    children = skeleton.children(joint)
    if children:
        return np.asarray(skeleton.offsets[children[0]])
    return np.asarray(skeleton.tips[skeleton.tip_parents.index(joint)])


def _ends(skeleton: Skeleton, segment: str, side: str) -> tuple[Floats, Floats]:
    """World places at rest of a segment's two landmarks, [m]."""
    places = rest_points(skeleton)

    def joint(name: str) -> Floats:
        return np.asarray(places[skeleton.index(name)])

    def tip(name: str) -> Floats:
        owner = skeleton.tip_parents.index(skeleton.index(name))
        return np.asarray(places[len(skeleton) + owner])

    hips = 0.5 * (joint("FemurR") + joint("FemurL"))
    # The foot's axis runs level from the heel to the great toe, at the toes' height.
    if segment == "foot":
        heel, toe = tip(f"Talus{side}"), tip(f"FootThumb{side}")
        return heel, np.array([toe[0], heel[1], heel[2]])
    ends = {
        "head": lambda: (tip("Head"), joint("Neck")),
        "upper_trunk": lambda: (joint("Neck"), joint("Torso")),
        "middle_trunk": lambda: (joint("Torso"), joint("Spine")),
        "lower_trunk": lambda: (joint("Spine"), hips),
        "upper_arm": lambda: (joint(f"Arm{side}"), joint(f"ForeArm{side}")),
        "forearm": lambda: (joint(f"ForeArm{side}"), joint(f"Hand{side}")),
        "hand": lambda: (joint(f"Hand{side}"), tip(f"Hand{side}")),
        "thigh": lambda: (joint(f"Femur{side}"), joint(f"Tibia{side}")),
        "shank": lambda: (joint(f"Tibia{side}"), joint(f"Talus{side}")),
    }
    return ends[segment]()
