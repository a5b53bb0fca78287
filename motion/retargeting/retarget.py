"""Retargeting: the motion of one skeleton on another, by the roles of their joints.

Rotations relative to the rest pose are transferred. The hips' displacement is scaled by leg
length, and feet are moved to the scaled positions of the source's feet. A least-squares
refinement then fits all of these within the target's joint limits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ambulo.configs.arrays import Bools, Floats, short_repr
from ambulo.configs.errors import MotionError
from ambulo.motion.contacts import foot_contacts
from ambulo.motion.kinematics import joint_positions, motion_kinematics
from ambulo.motion.landmarks import has_feet
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.body import (
    SIDES,
    RetargetBody,
    broken_limbs,
    retarget_body,
)
from ambulo.motion.retargeting.feet import align_feet, flattened, plant_toes
from ambulo.motion.retargeting.ground import (
    body_lift,
    ground_height,
    hand_lifts,
    height_corrections,
    sole_heights,
)
from ambulo.motion.retargeting.lengths import comparable, fitted, leg_length
from ambulo.motion.retargeting.refine import (
    AIM,
    ANKLE,
    HIPS,
    POSITION,
    RefinementGoals,
    refined,
)
from ambulo.motion.retargeting.source import Source, prepared
from ambulo.motion.retargeting.source_error import SourceError, source_error
from ambulo.motion.retargeting.transfer import (
    alignments,
    constrained_rotations,
    requested_orientations,
    turns_of,
)
from ambulo.motion.retargeting.twists import turned_back
from ambulo.motion.roles import missing_roles, role_map
from ambulo.motion.roles.finder import FOUR_LEGS
from ambulo.motion.rotations import quat_rotate
from ambulo.motion.skeleton import Skeleton

ALL = slice(None)
"""All frames."""
FIRM = 0.02
"""Lift of a hand from which its goal has an ankle's weight, [m]."""
FARTHEST_CM, FARTHEST_DEG, FARTHEST_BONE = 10.0, 10.0, 40.0
"""Limits of the mean errors of a mapping: of joints, [cm], of bones and rotations, [deg], and
of a single bone, [deg]."""


@dataclass(frozen=True, eq=False)
class Retargeted:
    """A motion on the target skeleton, with its errors."""

    __repr__ = short_repr

    motion: Motion
    """The motion, on the target skeleton (with the source's lengths, if fitted)."""
    error: SourceError
    """Distance from the source's world pose, with the source's floor made level."""
    residuals_cm: dict[str, float]
    """Mean distance of the joint of each role from its goal on the target's body, [cm]; the
    goals follow from the transferred rotations: `error` is the distance from the source. The
    goals of feet are those before they are placed on the ground."""
    residuals_95_cm: dict[str, float]
    """95th percentile of that distance, [cm]."""
    scale: float
    """Target's leg length over the source's; the path of the root is scaled by it."""
    ground: float
    """Height of the source's ground in the target's scale, [m]; it is shifted to 0."""
    contacts: Bools
    """Whether the source's left and right foot are in contact. Shape (T, 2)."""
    levelled: float
    """Largest height by which the body was moved to make the source's floor level, [m]."""
    untwisted: tuple[str, ...]
    """Roles whose joints were captured with a half turn of twist, which was corrected."""
    missing: tuple[str, ...]
    """Roles of the target that the source lacks (`missing_roles`)."""
    notes: tuple[str, ...]
    """Choices that the source's file does not determine, and its missing parts."""

    @property
    def note(self) -> str:
        """The notes in one line; "" without any."""
        return "; ".join(self.notes)


def retarget(
    motion: Motion | Source,
    target: Skeleton,
    *,
    fit_lengths: bool = False,
    refine: bool = True,
    ground: bool = True,
    frames: slice = ALL,
) -> Retargeted:
    """Retarget `motion` to the skeleton `target`.

    Args:
        motion: A motion of any skeleton whose joints have roles (`ambulo.motion.roles`),
            prepared (`ambulo.motion.retargeting.source`) or not.
        target: The skeleton that gets the motion.
        fit_lengths: Give the target the lengths of the source's segments first.
        refine: Refine the transferred pose by least squares; without it hinges clip rotations
            and feet slide and sink a little.
        ground: Set feet in contact on level ground, with level soles; without it they keep the
            source's distance from it.
        frames: Frames to return. Rest pose, ground and all other properties of the clip are
            computed from all frames.

    Outer parts of a limb do not move if one body lacks an inner role of the limb
    (`broken_limbs`), such as hands on unknown arms.

    Goals of joints follow from the target's bones in the source's directions; goals of ankles
    are the scaled source's ankles; with `fit_lengths` all goals are the source's joints. The
    ground of the result is at height 0.

    Raises:
        MotionError: A skeleton lacks hips or thighs; the source's axes or rest pose cannot be
            determined; the result differs too much from the source's motion.
    """
    given = motion if isinstance(motion, Source) else prepared(motion)
    captured = given.motion
    source, body = retarget_body(captured.skeleton), retarget_body(target)
    missing = tuple(r for r in missing_roles(source.skeleton) if r in body.roles)
    given = given.noted(_missing_text(missing, source))
    source, note = _led(source, body)
    given = given.noted(note)
    if not isinstance(motion, Source):
        given.logged()
    motion = turned_back(source, captured, motion_kinematics(captured)[1])
    positions, orientations = motion_kinematics(motion)
    if fit_lengths:
        body = fitted(source, body)
    turns = turns_of(source, orientations)
    contacts = _contacts(motion)
    aligned = alignments(source, body, turns)
    aligned = align_feet(source, body, turns, contacts, aligned)
    requested = requested_orientations(source, body, turns, aligned)
    if refine and ground:
        requested = flattened(body, requested, contacts, motion.fps)
    rotations, requested = constrained_rotations(body, requested)
    scale = leg_length(body) / leg_length(source)
    where = _goal_positions(source, body, scale * positions, requested, fit_lengths)
    if refine and ground:
        plant_toes(
            source, body, scale * positions, requested, where, aligned, motion.fps
        )
    soles = sole_heights(body, where, requested)
    floor = ground_height(soles, contacts)
    where[..., 2] -= floor
    whole = np.zeros(len(motion))
    if refine:
        lifts = np.zeros(contacts.shape)
        if ground:
            lifts = height_corrections(soles - floor, contacts, motion.fps)
            whole = body_lift(lifts, motion.fps)
        where[..., 2] += whole[:, None]
        hands = np.zeros(contacts.shape)
        if ground:
            hands = hand_lifts(
                (source, positions, orientations), (body, where, requested),
                scale, floor - whole, motion.fps,
            )  # fmt: skip
        goals = _goals(body, where, requested, lifts - whole[:, None], hands)
        root, rotations = refined(body, where[:, 0], rotations, goals, motion.fps)
    else:
        root = where[:, 0]
    moved = Motion(body.skeleton, motion.fps, root, rotations, name=motion.name)
    same = body if fit_lengths else fitted(source, body)
    moved, floors = moved[frames], (floor - whole)[frames]
    error = source_error((source, captured[frames]), (body, moved), same, scale, floors)
    untwisted = _changed(source, captured, motion)
    _check_trusted(captured, body.skeleton, error, untwisted)
    return Retargeted(
        motion=moved,
        error=error,
        **_residuals(body, moved, where[frames]),
        scale=scale,
        ground=floor,
        contacts=contacts[frames],
        levelled=float(np.abs(whole[frames]).max()),
        untwisted=untwisted,
        missing=missing,
        notes=given.notes,
    )


def _missing_text(missing: tuple[str, ...], source: RetargetBody) -> str:
    """Describe parts at rest because the source's joints have other names; "" if none."""
    if not missing:
        return ""
    return (
        f"roles: no joints found for {', '.join(missing)}, which stay as at rest (found: "
        f"{', '.join(source.roles)}); give a role map"
    )


def _led(source: RetargetBody, body: RetargetBody) -> tuple[RetargetBody, str]:
    """`source` without the ends of broken limbs, and a description of the gaps, or ""."""
    broken = broken_limbs(source, body)
    if not broken:
        return source, ""
    lacking = dict.fromkeys(role for roles in broken.values() for role in roles)
    where = " and ".join(
        f"{one.skeleton.name} has no {', '.join(missing)}"
        for one in (source, body)
        if (missing := [role for role in lacking if role not in one.roles])
    )
    led = {role: j for role, j in source.roles.items() if role not in broken}
    note = f"roles: {', '.join(broken)} do not move either: {where}"
    return replace(source, roles=led), note


def _changed(source: RetargetBody, before: Motion, after: Motion) -> tuple[str, ...]:
    """Roles whose local rotations differ between two motions of the source."""
    if before is after:
        return ()
    differs = (before.rotations != after.rotations).any(axis=(0, 2))
    return tuple(role for role, joint in source.roles.items() if differs[joint])


def _check_trusted(
    motion: Motion, target: Skeleton, error: SourceError, untwisted: tuple[str, ...]
) -> None:
    """Refuse a result too far from the source's motion, except corrected half turns.

    Raises:
        MotionError: Its joints, bones or rotations are far from the source's in the mean.
    """
    bones = error.directions_deg
    worst = max(bones, key=lambda bone: bones[bone], default="")
    turns = [v for role, v in error.rotations_deg.items() if role not in untwisted]
    for name, value, limit, unit in (
        ("joints", error.position_cm, FARTHEST_CM, "cm"),
        ("bones", error.direction_deg, FARTHEST_DEG, "degrees"),
        (f"the line {worst}", bones.get(worst, 0.0), FARTHEST_BONE, "degrees"),
        ("rotations", float(np.mean(turns or [0.0])), FARTHEST_DEG, "degrees"),
    ):
        if value > limit:
            why = "its rest pose or axes are not what they seem"
            if role_map(target).refusal == FOUR_LEGS:
                why = f"{target.name} has four legs, and takes clips of such bodies"
            raise MotionError(
                f"{motion.label}: cannot be retargeted: {name} would be {value:.0f} {unit} "
                f"from the source; {why}"
            )


def _contacts(motion: Motion) -> Bools:
    """Contacts of the left and right foot, (T, 2); False without feet."""
    if not has_feet(motion.skeleton):
        return np.zeros((len(motion), 2), dtype=np.bool_)
    return foot_contacts(motion)


def _goal_positions(
    source: RetargetBody,
    body: RetargetBody,
    scaled: Floats,
    requested: Floats,
    fit_lengths: bool,
) -> Floats:
    """Goal positions of the target's joints, [m]. Shape (T, J, 3).

    Args:
        source: The skeleton that moves.
        body: The target, J joints.
        scaled: World positions of the source's joints in the target's scale, [m].
        requested: World orientations of the target's joints. Shape (T, J, 4).
        fit_lengths: Whether the target has the source's lengths.
    """
    where = _hung(body.skeleton, requested)
    thighs = [side + "thigh" for side in SIDES]
    middle = scaled[:, [source.roles[role] for role in thighs]].mean(axis=1)
    own_middle = where[:, [body.roles[role] for role in thighs]].mean(axis=1)
    where += (middle - own_middle)[:, None]
    if fit_lengths:
        for role in comparable(source, body):
            joint = body.roles[role]
            shift = scaled[:, source.roles[role]] - where[:, joint]
            where[:, joint] = scaled[:, source.roles[role]]
            if role.endswith(("hand", "head")):
                for below in body.skeleton.branch(joint)[1:]:
                    where[:, below] += shift  # fingers and eyes follow their parents
    for side in SIDES:
        if side + "foot" not in body.roles or side + "foot" not in source.roles:
            continue
        foot = body.roles[side + "foot"]
        shift = scaled[:, source.roles[side + "foot"]] - where[:, foot]
        shin = body.roles.get(side + "shin")
        if shin is not None and not fit_lengths:
            where[:, shin] += 0.5 * shift
        for joint in body.skeleton.branch(foot):
            where[:, joint] += shift
    return where


def _hung(skeleton: Skeleton, orientations: Floats) -> Floats:
    """World positions (T, J, 3), the root's at 0, of joints with free orientations."""
    positions = np.zeros((*orientations.shape[:2], 3))
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0:
            offset = quat_rotate(orientations[:, parent], skeleton.offsets[joint])
            positions[:, joint] = positions[:, parent] + offset
    return positions


def _goals(
    body: RetargetBody,
    where: Floats,
    requested: Floats,
    lifts: Floats,
    hands: Floats,
) -> RefinementGoals:
    """Goals and weights of the refinement.

    Args:
        body: The target, J joints.
        where: Target world positions of its joints, [m]. Shape (T, J, 3).
        requested: Target world orientations of its joints. Shape (T, J, 4).
        lifts: Lifts that place the left and right foot on the ground, [m]. Shape (T, 2).
        hands: Lifts of the left and right hand out of it, [m]. Shape (T, 2).
    """
    frames, joints = where.shape[:2]
    positions = where.copy()
    weights = np.full((frames, joints), POSITION)
    turn_weights = np.zeros((frames, joints))
    for role, joint in body.parts.items():
        turn_weights[:, joint] = AIM.get(role.split("_", 1)[-1], 0.0)
    weights[:, 0] = HIPS
    for lift, side in zip(lifts.T, SIDES, strict=True):
        weights[:, body.roles[side + "thigh"]] = HIPS
        foot = body.roles.get(side + "foot")
        if foot is None:
            continue
        weights[:, foot] = ANKLE
        for joint in body.skeleton.branch(foot):
            positions[:, joint, 2] += lift
    for lift, side in zip(hands.T, SIDES, strict=True):
        if side + "hand" in body.roles and lift.any():
            hand = body.roles[side + "hand"]
            positions[:, body.skeleton.branch(hand), 2] += lift[:, None]
            firm = np.minimum(lift / FIRM, 1.0)
            weights[:, hand] += firm * (ANKLE - weights[:, hand])
    return RefinementGoals(
        positions, weights, np.ascontiguousarray(requested), turn_weights
    )


def _residuals(
    body: RetargetBody, motion: Motion, where: Floats
) -> dict[str, dict[str, float]]:
    """Mean and 95 % distance of each role's joint from `where` (T, J, 3), [cm]."""
    far = 100.0 * np.linalg.norm(joint_positions(motion) - where, axis=-1)
    mean, high = far.mean(axis=0), np.percentile(far, 95.0, axis=0)
    return {
        "residuals_cm": {role: float(mean[j]) for role, j in body.roles.items()},
        "residuals_95_cm": {role: float(high[j]) for role, j in body.roles.items()},
    }
