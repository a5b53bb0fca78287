"""Sequences of people in torch: poses at any time, mirrored or not; the batch comes last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ambulo.configs.arrays import Floats
from ambulo.ik.data.sequences import SequenceData
from ambulo.motion.skeletons import load_skeleton
from ambulo.train.ik.kinematics import matrices_of_quat


@dataclass
class PoseSamples:
    """Poses on human23, N of them."""

    root: Tensor
    """World position of the pelvis, [m]. Shape (3, N)."""
    local: Tensor
    """Local rotations as matrices. Shape (23, 3, 3, N)."""


class SequenceSource:
    """Sequences in memory, sampled by linear interpolation between frames."""

    def __init__(self, data: SequenceData, device: torch.device | str = "cpu") -> None:
        """Keep the frames of `data` on `device` as float32."""
        self.data, self.device = data, torch.device(device)
        self.fps = data.header.fps
        self.starts = torch.from_numpy(data.starts[:-1].copy()).to(device)
        clips = data.header.clips
        self.frames = torch.tensor([clip.frames for clip in clips], device=device)
        shapes = torch.tensor([clip.shape for clip in clips], device=device)
        self.ratios = shapes.T.float()
        self._root = torch.from_numpy(data.root).to(device)
        self._rotations = torch.from_numpy(data.rotations).to(device)
        joints = load_skeleton("human23").joints
        twins = [joints.index(_other_side(name)) for name in joints]
        self._twins = torch.tensor(twins, device=device)
        self._mirror = torch.tensor([1.0, -1.0, 1.0, -1.0], device=device)

    def weights(self, balance: float) -> Floats:
        """Probability of each sequence: between their lengths (0) and equal people (1)."""
        clips = self.data.header.clips
        frames = np.array([clip.frames for clip in clips], dtype=np.float64)
        people = np.array([clip.subject for clip in clips])
        totals = {name: frames[people == name].sum() for name in set(people.tolist())}
        total = np.array([totals[name] for name in people])
        weights: Floats = frames * total**-balance
        return weights / weights.sum()

    def sample(self, clips: Tensor, seconds: Tensor, mirrored: Tensor) -> PoseSamples:
        """The poses of sequences `clips` (N,) at times `seconds` (N,); `mirrored` (N,) bool."""
        frame = (seconds * self.fps).clamp(min=0.0)
        frame = torch.minimum(frame, self.frames[clips] - 1.001)
        low = frame.floor()
        part = (frame - low).float()
        rows = self.starts[clips] + low.long()
        root = torch.lerp(self._root[rows], self._root[rows + 1], part[:, None])
        a, b = self._rotations[rows], self._rotations[rows + 1]
        b = torch.where((a * b).sum(-1, keepdim=True) < 0.0, -b, b)
        turns = torch.nn.functional.normalize(
            torch.lerp(a, b, part[:, None, None]), dim=-1
        )
        if mirrored.any():
            swapped = turns[mirrored][:, self._twins]
            turns[mirrored] = swapped * self._mirror
            root[mirrored] *= self._mirror[:3]
        quaternions = turns.permute(1, 2, 0).contiguous()
        return PoseSamples(root.T.contiguous(), matrices_of_quat(quaternions))


def _other_side(name: str) -> str:
    """The joint's name on the other side."""
    if name.endswith("R"):
        return name[:-1] + "L"
    return name[:-1] + "R" if name.endswith("L") else name
