"""How far the feet of predicted poses move otherwise than true ones.

A foot slides by the small errors of six joints and the root together, which no weight on
single numbers sees. So feet are followed through the leg: hip, knee, ankle and the sole's
points (heel, toe joints and toe ends), on each body's own lengths and torsions.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import torch
from torch import Tensor

from ambulo.configs.arrays import Singles
from ambulo.configs.gait import GaitSpace
from ambulo.motion.gaits.frames import WAY_RATE, frame_rate
from ambulo.motion.gaits.skeleton import gait_skeleton
from ambulo.motion.human23 import sixdof_slices
from ambulo.motion.rotations import quat_to_matrix, sixd_to_matrix
from ambulo.motion.skeleton import Skeleton

SIDES = "LR"
TOES = ("FootPinky", "FootThumb")
STILL = 0.25
"""Speed at which a point of a foot counts half, [m/s]."""


@dataclass(frozen=True)
class Legs:
    """Legs of N bodies; of both sides, left first."""

    joints: Tensor
    """Offsets of hip, knee and ankle, [m]. Shape (N, 3, 2, 3)."""
    torsions: Tensor
    """Turn of the shin in the thigh. Shape (N, 2, 3, 3)."""
    points: Tensor
    """Ankle, heel and both toe joints in the foot, [m]. Shape (N, 2, 4, 3)."""
    ends: Tensor
    """Ends of both toes from their joints, [m]. Shape (N, 2, 2, 3)."""
    rate: Tensor
    """Frames per second of their sequences, [Hz]. Shape (N,)."""

    def __getitem__(self, rows: Tensor) -> Self:
        """The bodies in `rows`."""
        return type(self)(*(getattr(self, part.name)[rows] for part in fields(self)))

    def to(self, device: torch.device) -> Self:
        """The same on `device`."""
        parts = (getattr(self, part.name).to(device) for part in fields(self))
        return type(self)(*parts)


def legs_of(space: GaitSpace, params: Singles) -> Legs:
    """Legs of the bodies with normalised parameters (N, P)."""
    values = space.denormalize(params)
    bodies = [gait_skeleton(space, row) for row in values]
    torsions = np.array(
        [[body.rest[_leg(body, s)[1]] for s in SIDES] for body in bodies]
    )

    def tensor(array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.asarray(array, dtype=np.float32))

    return Legs(
        tensor(np.array([_joints(body) for body in bodies])),
        tensor(np.asarray(quat_to_matrix(torsions))),
        tensor(np.array([[_points(body, s) for s in SIDES] for body in bodies])),
        tensor(np.array([[_ends(body, s) for s in SIDES] for body in bodies])),
        tensor(frame_rate(space, values)),
    )


def foot_velocities(frames: Tensor, after: Tensor, legs: Legs) -> Tensor:
    """Velocities of the feet's points from `frames` (B, 101) to those after them, [m/s].

    The root goes its mean way in between, as `root_path` has it. Of both sides, left
    first: ankle, heel, toe joints and toe ends. Shape (B, 2, 6, 3).
    """
    rate = legs.rate[:, None]
    way = 0.5 * (frames[:, 6:8] + after[:, 6:8]) * WAY_RATE
    rise = (after[:, 8:9] - frames[:, 8:9]) * rate
    root = torch.cat([way, rise], dim=1)[:, None, None]
    moved = _about_root(after, legs) - _about_root(frames, legs)
    return root + moved * rate[..., None, None]


def feet_loss(predicted: Tensor, true: Tensor, legs: Legs) -> Tensor:
    """Mean squared error of `foot_velocities`, [m^2/s^2], of feet that stand.

    A point whose true speed is v counts 1 / (1 + (v / STILL)^2): in flight feet are fast,
    and their errors, large and harmless, would hide those of standing.

    Rows (2 B, 101): B frames, then the frame after each; `legs` of the B frames.
    """
    half = len(true) // 2
    found = foot_velocities(predicted[:half], predicted[half:], legs)
    wanted = foot_velocities(true[:half], true[half:], legs)
    weight = 1.0 / (1.0 + (wanted**2).sum(dim=-1) / STILL**2)
    return (weight * ((found - wanted) ** 2).sum(dim=-1)).mean()


def _about_root(frames: Tensor, legs: Legs) -> Tensor:
    """Places of the feet's points from the root, in the world's axes. (B, 2, 6, 3)."""
    own = sixdof_slices()

    def balls(*names: str) -> Tensor:
        rows = torch.stack([frames[:, own[name]] for name in names], dim=1)
        return torch.as_tensor(sixd_to_matrix(rows))

    pelvis = balls("Pelvis")
    hips = balls(*(f"Femur{side}" for side in SIDES))
    ankles = balls(*(f"Talus{side}" for side in SIDES))

    def hinges(*names: str) -> Tensor:
        angles = [[frames[:, own[name + side]] for name in names] for side in SIDES]
        return torch.stack([torch.cat(one, dim=1) for one in angles], dim=1)

    hip, knee, ankle = legs.joints.unbind(1)
    ends = legs.points[:, :, 2:] + _bent(hinges(*TOES), legs.ends)
    places = torch.cat([legs.points, ends], dim=2)
    places = _turned(ankles, places) + ankle[:, :, None]
    places = _turned(legs.torsions, _bent(hinges("Tibia"), places)) + knee[:, :, None]
    places = _turned(hips, places) + hip[:, :, None]
    return _turned(pelvis, places)


def _turned(turns: Tensor, places: Tensor) -> Tensor:
    """Places (B, 2, K, 3) turned by matrices (B, 2 or 1, 3, 3)."""
    return places @ turns.transpose(-1, -2)


def _bent(angles: Tensor, places: Tensor) -> Tensor:
    """Places (B, 2, K, 3) turned about +Y by angles (B, 2, K or 1), [rad]."""
    sine, cosine = torch.sin(angles), torch.cos(angles)
    x, y, z = places.unbind(-1)
    return torch.stack([cosine * x + sine * z, y, cosine * z - sine * x], dim=-1)


def _leg(skeleton: Skeleton, side: str) -> list[int]:
    """Hip, knee and ankle."""
    return [skeleton.index(joint + side) for joint in ("Femur", "Tibia", "Talus")]


def _joints(skeleton: Skeleton) -> np.ndarray:
    """Offsets (3, 2, 3) of hips, knees and ankles."""
    return np.stack([skeleton.offsets[_leg(skeleton, side)] for side in SIDES], axis=1)


def _points(skeleton: Skeleton, side: str) -> np.ndarray:
    """Ankle, heel and toe joints (4, 3) in the foot of a side."""
    ankle = _leg(skeleton, side)[2]
    heel = skeleton.tips[skeleton.tip_parents.index(ankle)]
    return np.stack([np.zeros(3), heel, *skeleton.offsets[_toes(skeleton, side)]])


def _ends(skeleton: Skeleton, side: str) -> np.ndarray:
    """Ends of both toes (2, 3) from their joints."""
    tips = [skeleton.tip_parents.index(toe) for toe in _toes(skeleton, side)]
    return skeleton.tips[tips]


def _toes(skeleton: Skeleton, side: str) -> list[int]:
    return [skeleton.index(toe + side) for toe in TOES]
