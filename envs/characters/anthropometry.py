"""Masses, centres and inertias of a body's parts from tables of body segments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.landmarks import heel_and_toe, rest_points
from ambulo.motion.mass import TRUNK_LENGTHS
from ambulo.motion.roles import SIDES, roles_of
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import SegmentData, skeleton_file

CLAVICLE, NECK, TOE, OTHER_TOE = 0.08, 0.2, 0.15, 0.1
"""Fractions of upper trunk, head and foot that bodies of these parts take from them: each
clavicle, the neck, the toes of the role and the others beside it (our choice)."""

LIMBS: dict[str, tuple[str, str]] = {
    "upper_arm": ("upper_arm", "forearm"), "forearm": ("forearm", "hand"),
    "hand": ("hand", ""), "thigh": ("thigh", "shin"), "shank": ("shin", "foot"),
    "foot": ("foot", ""),
}  # fmt: skip
"""Roles at both ends of the segments that are there twice; "": an end without a joint. Where
the hand has no joint, the forearm's tips are the wrist and the hand's end."""
TRUNK = ("hips", "spine", "chest")
"""Roles of the bodies of the trunk, upwards as `TRUNK_LENGTHS`."""
ALIKE = 2.0
"""Joints of the trunk are its landmarks where they divide it like the table, within this
factor; else the landmarks lie on the line from hips to neck as in the table."""


@dataclass(frozen=True)
class Inertial:
    """A rigid body's mass properties in its own frame."""

    mass: float
    """[kg]."""
    center: Floats
    """Centre of mass, [m]. Shape (3,)."""
    inertia: Floats
    """About the centre, along the frame's axes, [kg m^2]. Shape (3,)."""

    def joined(self, other: Inertial) -> Inertial:
        """Both as one body; products of inertia are left out."""
        mass = self.mass + other.mass
        center = (self.mass * self.center + other.mass * other.center) / mass
        inertia = np.zeros(3)
        for one in (self, other):
            square = (one.center - center) ** 2
            inertia += one.inertia + one.mass * (square.sum() - square)
        return Inertial(mass, center, inertia)


def body_parts(skeleton: Skeleton) -> tuple[str, ...]:
    """The part of the body that each joint carries: a role without its side.

    Joints without a role below a foot are toes, others belong to their parent's part.
    """
    parts: list[str] = []
    own = {joint: role for role, joint in roles_of(skeleton).items()}
    for joint, parent in enumerate(skeleton.parents):
        role = own.get(joint, "")
        above = parts[parent] if parent >= 0 else "hips"
        if role:
            side, _, limb = role.partition("_")
            parts.append(limb if side in SIDES else role)
        else:
            parts.append("toe" if above == "foot" else above)
    return tuple(parts)


def inertials(
    skeleton: Skeleton, mass: float, factors: Mapping[str, float] | None = None
) -> dict[str, Inertial]:
    """Mass properties by joint of a body whose mass is `mass`, [kg].

    The skeleton has all roles but for neck, clavicles, toes and those of the trunk, which
    bodies may lack; at rest its frames are those of the world, its arms lie along Y, its
    legs along Z, its feet along X. `factors` change the masses of single bodies, and
    their inertias alike.

    Masses, centres and radii of gyration: de Leva, Journal of Biomechanics 29(9), 1996,
    table 4, men. A segment that is several bodies gives each its share; the largest keeps
    the segment's centre and gyration, the others are spheres at half of their bone.
    """
    segments = {s.name: s for s in skeleton_file("human23").segments}
    total = sum(s.mass * (2 if s.name in LIMBS else 1) for s in segments.values())
    found: dict[int, Inertial] = {}
    for segment in segments.values():
        for side in SIDES if segment.name in LIMBS else ("",):
            whole = mass * segment.mass / total
            for joint, own in _bodies(skeleton, segment, side, whole).items():
                found[joint] = found[joint].joined(own) if joint in found else own
    for name, factor in (factors or {}).items():
        own = found[skeleton.index(name)]
        found[skeleton.index(name)] = Inertial(
            own.mass * factor, own.center, own.inertia * factor
        )
    return {name: found[joint] for joint, name in enumerate(skeleton.joints)}


def _bodies(
    skeleton: Skeleton, segment: SegmentData, side: str, mass: float
) -> dict[int, Inertial]:
    """The bodies of one segment on one side, by joint."""
    start, end = _ends(skeleton, segment.name, side)
    places, others = rest_points(skeleton), _others(skeleton, segment.name, side)
    gyration = float(np.linalg.norm(end - start)) * _axes(segment, end - start)
    rest = 1.0 - sum(others.values())
    bodies: dict[int, Inertial] = {}
    for main, share, center in _mains(skeleton, segment, side, start, end):
        own = mass * rest * share
        bodies[main] = Inertial(own, center - places[main], own * gyration**2)
    for joint, share in others.items():
        center = 0.5 * _bone(skeleton, joint)
        gyration = np.full(3, max(0.35 * float(np.linalg.norm(center)), 0.015))
        bodies[joint] = Inertial(mass * share, center, mass * share * gyration**2)
    return bodies


def _mains(
    skeleton: Skeleton, segment: SegmentData, side: str, start: Floats, end: Floats
) -> list[tuple[int, float, Floats]]:
    """Joint, fraction and centre (3,) of each body between a segment's landmarks, [m].

    Several only where joints of the trunk are no landmarks: these cut the segments.
    """
    roles, center = roles_of(skeleton), start + segment.at * (end - start)
    if segment.name == "head":
        return [(roles["head"], 1.0, center)]
    if segment.name in LIMBS:
        own = f"{side}_{LIMBS[segment.name][0]}"
        return [(roles.get(own, roles[f"{side}_forearm"]), 1.0, center)]
    marks, are_joints = _trunk_marks(skeleton)
    row = list(TRUNK_LENGTHS).index(segment.name)
    if are_joints:
        return [(roles[TRUNK[row]], 1.0, center)]
    joints = [roles[role] for role in TRUNK if role in roles]
    cuts = [rest_points(skeleton)[joint, 2] for joint in joints[1:]]
    # Below this the trunk is the pelvis, wherever the spine begins.
    cuts = [max(cut, 0.5 * float(marks[0, 2] + marks[1, 2])) for cut in cuts]
    low, high = float(marks[row, 2]), float(marks[row + 1, 2])
    bounds = np.clip([low, *cuts, high], low, high)
    pieces = []
    for joint, lower, upper in zip(joints, bounds[:-1], bounds[1:], strict=True):
        share = float(upper - lower) / (high - low)
        if share > 0.0:
            at = (0.5 * (lower + upper) - low) / (high - low)
            whole = share == 1.0
            pieces.append((joint, share, center if whole else end + at * (start - end)))
    return pieces


def _others(skeleton: Skeleton, segment: str, side: str) -> dict[int, float]:
    """Fractions of a segment's mass that other bodies than its main one have."""
    roles = roles_of(skeleton)
    if segment == "upper_trunk":
        both = (roles.get(f"{side}_clavicle") for side in SIDES)
        return {joint: CLAVICLE for joint in both if joint is not None}
    if segment == "head":
        return {roles["neck"]: NECK} if "neck" in roles else {}
    if segment != "foot":
        return {}
    foot, great = roles[f"{side}_foot"], roles.get(f"{side}_toe")
    others = [joint for joint in skeleton.branch(foot)[1:] if joint != great]
    shares = {joint: OTHER_TOE / len(others) for joint in others}
    if great is not None:
        shares[great] = TOE if others else TOE + OTHER_TOE
    return shares


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
    places, roles = rest_points(skeleton), roles_of(skeleton)

    def joint(role: str) -> Floats:
        return np.asarray(places[roles[role]])

    def tips(role: str) -> Floats:
        owners = np.flatnonzero(np.array(skeleton.tip_parents) == roles[role])
        return np.asarray(places[len(skeleton) + owners])

    if segment == "head":
        return tips("head")[0], joint("neck" if "neck" in roles else "head")
    if segment not in LIMBS:
        row = list(TRUNK_LENGTHS).index(segment)
        marks, _ = _trunk_marks(skeleton)
        return marks[row + 1], marks[row]
    if segment == "foot":
        # The axis runs level from the heel to the great toe, at the toes' height.
        back, front = heel_and_toe(skeleton, side)
        heel = joint(f"{side}_foot") if back is None else np.asarray(places[back])
        return heel, np.array([places[front, 0], heel[1], heel[2]])
    first, second = (f"{side}_{limb}" for limb in LIMBS[segment])
    if first not in roles:
        wrist, end = tips(f"{side}_forearm")
        return wrist, end
    return joint(first), joint(second) if second in roles else tips(first)[0]


def _trunk_marks(skeleton: Skeleton) -> tuple[Floats, bool]:
    """Landmarks from the mid-hips upwards, (4, 3), [m]; whether they are joints."""
    places, roles = rest_points(skeleton), roles_of(skeleton)
    hips = 0.5 * (places[roles["right_thigh"]] + places[roles["left_thigh"]])
    top = 0.5 * (places[roles["right_upper_arm"]] + places[roles["left_upper_arm"]])
    if "neck" in roles and places[roles["neck"], 2] > top[2]:
        top = places[roles["neck"]]
    table = np.array(list(TRUNK_LENGTHS.values()))
    if all(role in roles for role in (*TRUNK, "neck")):
        marks = np.array([hips, *(places[roles[role]] for role in TRUNK[1:]), top])
        lengths = np.linalg.norm(np.diff(marks, axis=0), axis=1)
        parts = (lengths / lengths.sum()) / (table / table.sum())
        if parts.max() < ALIKE and parts.min() > 1.0 / ALIKE:
            return marks, True
    ways = np.r_[0.0, np.cumsum(table / table.sum())]
    return hips + ways[:, None] * (top - hips), False
