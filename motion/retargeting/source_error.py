"""Distance of a retargeted motion from the world pose of its source.

The comparison is with the source's own joints in the world, never with intermediate results:
positions on a body of the source's lengths, directions of bones on the target's own body, and
rotations over time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.kinematics import forward_kinematics, motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.body import LIMBS, SHORT, SIDES, RetargetBody
from ambulo.motion.retargeting.lengths import comparable, leg_length
from ambulo.motion.rotations import (
    mean_rotation,
    quat_angle,
    quat_conjugate,
    quat_multiply,
)

FRAMES = 300
"""Number of frames in which errors are measured, evenly over the clip."""

BONES = (
    ("left_thigh", "right_thigh"),
    ("left_upper_arm", "right_upper_arm"),
    ("hips", "neck"),
    ("chest", "head"),
    *((side + start, side + end) for side in SIDES for start, end in LIMBS.items()),
)
"""Pairs of roles between which the direction must equal the source's on any body."""


@dataclass(frozen=True)
class SourceError:
    """Distances of a retargeted motion from its source's world pose, means over the clip."""

    positions_cm: dict[str, float]
    """Distance of the joint of each role, on a body of the source's lengths, in its scale,
    [cm]."""
    directions_deg: dict[str, float]
    """Angle of each pair of `BONES`, such as "left_thigh-left_shin", on the target's body,
    [deg]."""
    rotations_deg: dict[str, float]
    """Error of the rotation of each role's joint over the clip, [deg], up to a constant
    rotation between the two joints' frames. Without joints of spine and neck, which share the
    rotation."""

    @property
    def position_cm(self) -> float:
        """Mean of all roles, [cm]."""
        return _mean(self.positions_cm)

    @property
    def direction_deg(self) -> float:
        """Mean of all bones, [deg]."""
        return _mean(self.directions_deg)

    @property
    def rotation_deg(self) -> float:
        """Mean of all roles, [deg]."""
        return _mean(self.rotations_deg)


def source_error(
    source: tuple[RetargetBody, Motion],
    target: tuple[RetargetBody, Motion],
    same: RetargetBody,
    scale: float,
    floor: Floats,
) -> SourceError:
    """Measure the distance of `target` from `source`.

    Args:
        source: The source's body and motion.
        target: The target's body and the motion made for it.
        same: The target with the source's lengths, in any scale.
        scale: Factor on positions of the source.
        floor: Height of the source's floor in that scale, [m]. Shape (T,).
    """
    rows = np.unique(np.linspace(0, len(source[1]) - 1, FRAMES).round().astype(int))
    places, turns = motion_kinematics(source[1], rows)
    places = scale * places
    places[..., 2] -= floor[rows, None]
    own, own_turns = motion_kinematics(target[1], rows)
    here, there = source[0].roles, target[0].roles
    roles = [role for role in there if role in here]
    sized = same.skeleton.scaled(scale * leg_length(source[0]) / leg_length(same))
    on_same = forward_kinematics(
        sized, target[1].root_positions[rows], target[1].rotations[rows]
    )[0]
    thighs = [side + "thigh" for side in SIDES]
    # The body of the source's lengths is placed with the middle of its hips at the target's.
    shift = own[:, [there[r] for r in thighs]] - on_same[:, [there[r] for r in thighs]]
    on_same = on_same + shift.mean(axis=1)[:, None]
    positions = {
        role: 100.0
        * float(
            np.linalg.norm(
                on_same[:, there[role]] - places[:, here[role]], axis=-1
            ).mean()
        )
        for role in comparable(source[0], target[0])
    }
    directions = {}
    for start, end in BONES:
        if start in roles and end in roles:
            angle = _angles(
                own[:, there[end]] - own[:, there[start]],
                places[:, here[end]] - places[:, here[start]],
            )
            if len(angle):
                directions[f"{start}-{end}"] = float(np.rad2deg(angle.mean()))
    rotations = {
        role: float(
            np.rad2deg(
                _rotation_errors(
                    turns[:, source[0].parts[role]], own_turns[:, target[0].parts[role]]
                ).mean()
            )
        )
        for role in roles
        if not _is_shared(target[0], role)
    }
    return SourceError(positions, directions, rotations)


def _is_shared(target: RetargetBody, role: str) -> bool:
    """Whether a joint shares its rotation with its neighbours.

    Joints of spine and neck share those of chains of other lengths; a rig's forearm twists with
    the hand; parts with two hinges, and their children, cannot equal the source's.
    """
    if role in {"spine", "neck"}:
        return True
    joint = target.parts[role]
    if any(
        not target.turns_freely(other)
        and target.skeleton.path(target.parts[other], joint)
        for other in target.chains
    ):
        return True
    return (
        role.endswith("forearm")
        and target.is_ball(role)
        and target.hinge(role) is not None
    )


def _angles(a: Floats, b: Floats) -> Floats:
    """Angles [rad] between vectors (n, 3) that both have a direction. Shape (m,)."""
    lengths = np.linalg.norm(a, axis=-1), np.linalg.norm(b, axis=-1)
    long = np.minimum(*lengths) >= SHORT
    sine = np.linalg.norm(np.cross(a[long], b[long]), axis=-1)
    angles: Floats = np.arctan2(sine, (a[long] * b[long]).sum(axis=-1))
    return angles


def _rotation_errors(source: Floats, target: Floats) -> Floats:
    """Angles (n,), [rad], between `target` (n, 4) and `source` (n, 4) times a constant."""
    between = quat_multiply(quat_conjugate(source), target)
    constant = mean_rotation(between)
    angles: Floats = quat_angle(between, np.broadcast_to(constant, between.shape))
    return angles


def _mean(values: dict[str, float]) -> float:
    return float(np.mean(list(values.values()))) if values else 0.0
