"""Poses in training: batches with some targets left out.

Inputs and answers are made by the functions of `ambulo.ik` that run time uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import IKError
from ambulo.configs.neural_ik import IKRunConfig
from ambulo.evaluate.ik.scores import MASKS
from ambulo.ik.data.pose_data import PoseData, mirrored
from ambulo.ik.kernels.targets import HIPS
from ambulo.ik.limits import clamp
from ambulo.ik.pose import Pose, fk
from ambulo.ik.rig import TARGETS, Rig
from ambulo.ik.solver.features import (
    network_input,
    output_of,
    pose_in_frame,
    root_frame,
)
from ambulo.ik.solver.published import TASKS, Context, published_input, published_output
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply

PRESENT, TURNED = 0.7, 0.8
"""Chance of a position in a random set of targets, and of its rotation then."""


@dataclass(frozen=True)
class PoseBatch:
    """Batch of a training step; B poses, pairs of consecutive frames first."""

    inputs: Tensor
    """Inputs of the network. Shape (B, in)."""
    outputs: Tensor
    """Target output, as offsets from 0. Shape (B, out)."""
    root: Tensor
    """Position of the hips in the root frame, [m]. Shape (3, B)."""
    positions: Tensor
    """Joints in the root frame, [m]. Shape (J, 3, B)."""
    orientations: Tensor
    """Orientations of the joints in the root frame, wxyz. Shape (J, 4, B)."""
    position_weights: Tensor
    """Weight of each joint's position target; 0 where it has none. Shape (J, B)."""
    rotation_weights: Tensor
    """Weight of each joint's rotation target; 0 where it has none. Shape (J, B)."""
    contacts: Tensor
    """1 where the left, the right foot stands. Shape (2, B)."""
    pairs: int
    """Number of pairs: poses 0 and 1, 2 and 3, ..."""

    def to(self, device: torch.device) -> PoseBatch:
        """The same on `device`."""
        if device.type == "cpu":
            return self
        moved: dict[str, Any] = {
            name: value.to(device) if isinstance(value, Tensor) else value
            for name, value in vars(self).items()
        }
        return replace(self, **moved)


class Poses:
    """Poses of one part, and batches of them."""

    def __init__(
        self, data: PoseData, rig: Rig, config: IKRunConfig, *, mirror: bool
    ) -> None:
        """Hold `data`, and its mirror image too if asked."""
        if not len(data):
            raise IKError("no poses to learn from")
        parts = [data, mirrored(data, rig)] if mirror else [data]
        self.rig, self.config = rig, config
        self.root = np.concatenate([part.root for part in parts]).astype(np.float64)
        self.rotations = np.concatenate([part.rotations for part in parts]).astype(
            np.float64
        )
        self.contacts = np.concatenate([part.contacts for part in parts])
        after = data.successors()
        count = len(data)
        self.successors = np.concatenate(
            [np.where(after < 0, -1, after + i * count) for i in range(len(parts))]
        )
        self.first_of_pairs = np.flatnonzero(self.successors >= 0)
        weights = np.tile(_weights(data.subjects, config.dataset.balance), len(parts))
        self._chances = np.cumsum(weights) / weights.sum()
        of_pairs = weights[self.first_of_pairs]
        self._chances_of_pairs = np.cumsum(of_pairs) / max(of_pairs.sum(), 1e-12)
        locomotion = np.array(
            [clip.activity in ("walk", "run") for clip in data.header.clips]
        )
        self.moving = np.tile(locomotion[data.clip], len(parts))
        self._limbs = _limbs(rig)

    def __len__(self) -> int:
        """The number of poses."""
        return len(self.root)

    def draw(
        self, rng: np.random.Generator, size: int, *, varied: bool = True
    ) -> PoseBatch:
        """A batch of `size` poses, drawn by `rng` alone; `varied` or as captured."""
        config = self.config
        pairs = 0
        if config.loss.smoothness and len(self.first_of_pairs):
            pairs = int(config.training.pairs * size / 2)
        first = self.first_of_pairs[_drawn(rng, self._chances_of_pairs, pairs)]
        paired = np.stack([first, self.successors[first]], axis=1).ravel()
        single = self.drawn(rng, size - 2 * pairs)
        rows = np.concatenate([paired, single]).astype(np.int64)
        moved, turned = draw_masks(rng, config, size)
        for weights in (moved, turned):
            weights[1 : 2 * pairs : 2] = weights[: 2 * pairs : 2]
        if not varied:
            return self.batch(rows, self.pose(rows), moved, turned, pairs)
        single_only = np.arange(size) >= 2 * pairs
        pose, stands = self._varied(rng, rows, moved, single_only)
        noise = config.dataset.noise
        shift = noise * rng.standard_normal((size, len(TARGETS), 3)) if noise else None
        return self.batch(rows, pose, moved, turned, pairs, shift, stands)

    def drawn(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Draw `count` poses, those of people with few of them more often."""
        return _drawn(rng, self._chances, count)

    def batch(
        self,
        rows: NDArray[np.int64],
        pose: Pose,
        moved: Floats,
        turned: Floats,
        pairs: int = 0,
        shift: Floats | None = None,
        stands: NDArray[np.uint8] | None = None,
    ) -> PoseBatch:
        """The batch of `pose` (of the poses `rows`) with weights (B, 6) of its targets.

        `pairs` of it are consecutive, `shift` (B, 6, 3) is added to the targets' places,
        and `stands` (B, 2) tells standing feet where they are not those of `rows`.
        """
        rig = self.rig
        stands = self.contacts[rows] if stands is None else stands
        whole = Targets.of_pose(rig, pose)
        places = whole.positions if shift is None else whole.positions + shift
        targets = Targets(places, whole.rotations, moved, turned)
        frame = root_frame(rig, targets)
        own = pose_in_frame(rig, pose, frame)
        positions, orientations = fk(rig, own)
        if self.config.network.kind == "own":
            inputs = network_input(rig, targets, frame)
            outputs = output_of(own.root, own.rotations, np.zeros(3 + 6 * len(rig)))
        else:
            context = self._context(rows, targets, stands)
            inputs = published_input(rig, targets, context)
            outputs = published_output(own)
        weights = np.zeros((2, len(rig), len(pose)), dtype=np.float32)
        weights[0, list(rig.effectors)] = moved.T
        weights[1, list(rig.effectors)] = turned.T
        return PoseBatch(
            torch.from_numpy(inputs),
            torch.from_numpy(outputs.astype(np.float32)),
            _last(own.root),
            _last(positions),
            _last(orientations),
            torch.from_numpy(weights[0]),
            torch.from_numpy(weights[1]),
            _last(stands),
            pairs,
        )

    def targets(self, rows: NDArray[np.int64], mask: Sequence[str]) -> Targets:
        """Targets of the poses `rows`, those of `mask` alone."""
        return Targets.of_pose(self.rig, self.pose(rows)).only(*mask)

    def pose(self, rows: NDArray[np.int64]) -> Pose:
        """The poses `rows` in the world."""
        return Pose(self.root[rows], self.rotations[rows])

    def context(self, rows: NDArray[np.int64]) -> Context:
        """Inputs of the published network for the poses `rows` besides targets."""
        return self._context(rows, self.targets(rows, TARGETS), self.contacts[rows])

    def _varied(
        self,
        rng: np.random.Generator,
        rows: NDArray[np.int64],
        moved: Floats,
        free: NDArray[np.bool_],
    ) -> tuple[Pose, NDArray[np.uint8]]:
        """The poses `rows`, those that are `free` varied, and which feet stand.

        Whole poses are blended; but only limbs whose ends have targets (`moved` (B, 6)
        above 0) are changed alone: what has no target must go with the rest.
        """
        wanted, size = self.config.dataset, len(rows)
        local, stands = self.rotations[rows], self.contacts[rows]
        root = self.root[rows]
        changed = np.zeros((size, 2), dtype=np.bool_)
        if wanted.blend:
            partners = self.drawn(rng, size)
            part = rng.uniform(0.0, 0.5, size)
            chosen = np.flatnonzero(free & (rng.random(size) < wanted.blend))
            partners, part = partners[chosen], part[chosen]
            # The hips keep their turn: two headings have no middle.
            local[chosen, 1:] = _between(
                local[chosen, 1:], self.rotations[partners, 1:], part[:, None, None]
            )
            root[chosen, 2] += part * (self.root[partners, 2] - root[chosen, 2])
            changed[chosen] = True
        if wanted.mix:
            others = rng.integers(len(self), size=(4, size))
            chance = rng.random((4, size))
            for row, limb in enumerate(self._limbs):
                chosen = np.flatnonzero(
                    free & (chance[row] < wanted.mix) & (moved[:, row] > 0.0)
                )
                found = self.rotations[np.ix_(others[row][chosen], limb)]
                local[np.ix_(chosen, limb)] = found
                if row >= 2:
                    changed[chosen, row - 2] = True
        if wanted.jitter and wanted.jitter_share:
            turned = rng.standard_normal((size, len(self.rig), 3))
            turned *= wanted.jitter * rng.random((size, 1, 1))
            targeted = (moved[:, :HIPS] > 0.0).all(axis=1)
            chosen = np.flatnonzero(
                free & targeted & (rng.random(size) < wanted.jitter_share)
            )
            shaken = quat_multiply(local[chosen], quat_from_rotvec(turned[chosen]))
            local[chosen] = clamp(self.rig, shaken)
            changed[chosen] = True
        return Pose(root, local), np.where(changed, 0, stands).astype(np.uint8)

    def _context(
        self, rows: NDArray[np.int64], targets: Targets, feet: NDArray[np.uint8]
    ) -> Context:
        level = Context.level(targets)
        stands = feet.astype(np.float64)
        task = np.where(self.moving[rows], TASKS.index("locomotion"), 0).astype(
            np.float64
        )
        return Context(
            level.ground_heights,
            level.ground_normals,
            stands,
            stands,
            level.phase,
            task,
        )


def draw_masks(
    rng: np.random.Generator, config: IKRunConfig, size: int
) -> tuple[Floats, Floats]:
    """Weights of positions and of rotations of each target, (B, 6) each."""
    moved, turned = np.ones((size, len(TARGETS))), np.ones((size, len(TARGETS)))
    masks = config.masks
    shares = np.array([masks.all, masks.effectors, masks.trackers, masks.any])
    kinds = rng.choice(4, size, p=shares / shares.sum())
    there = rng.random((size, len(TARGETS))) < PRESENT
    there[np.arange(size), rng.integers(len(TARGETS), size=size)] = True
    facing = rng.random((size, len(TARGETS))) < TURNED
    soft = rng.uniform(0.2, 1.0, (size, len(TARGETS)))
    softened = rng.random(size) < masks.soft
    if config.network.kind != "own":
        return moved, turned
    for kind, name in enumerate(MASKS):
        rows = np.array([target in MASKS[name] for target in TARGETS])
        moved[kinds == kind] = rows
    loose = kinds == len(MASKS)
    moved[loose] = there[loose] * np.where(softened[loose, None], soft[loose], 1.0)
    turned[:] = moved
    turned[loose] *= facing[loose]
    return moved, turned


def _between(a: Floats, b: Floats, part: Floats) -> Floats:
    """Rotations on the shorter way from a to b, about `part` of it: straight lines."""
    nearer = np.where((a * b).sum(axis=-1, keepdims=True) < 0.0, -b, b)
    found: Floats = a + part * (nearer - a)
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


def _weights(people: NDArray[np.str_], balance: float) -> Floats:
    """How much each pose counts: by how many poses of `people` (N,) its person has."""
    _, who, counts = np.unique(people, return_inverse=True, return_counts=True)
    found: Floats = (counts.astype(np.float64) ** -balance)[who]
    return found


def _drawn(rng: np.random.Generator, chances: Floats, count: int) -> NDArray[np.int64]:
    """Indices (count,) drawn with the cumulative `chances`, the last of which is 1."""
    return np.searchsorted(chances, rng.random(count), side="right").astype(np.int64)


def _limbs(rig: Rig) -> list[NDArray[np.int64]]:
    """The joints of both arms and both legs, from the base of each target downwards."""
    limbs = [
        [joint for joint in range(len(rig)) if rig.bases[row] in rig.chain(joint)]
        for row in range(4)
    ]
    return [np.array(limb, dtype=np.int64) for limb in limbs]


def _last(array: NDArray[np.generic]) -> Tensor:
    """`array` (B, ...) as float32 with the batch as its last axis."""
    moved = np.moveaxis(array, 0, -1).astype(np.float32)
    return torch.from_numpy(np.ascontiguousarray(moved))
