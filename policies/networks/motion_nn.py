"""MotionNN: a network that predicts how a body goes on moving, and encodes how it moves."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ambulo.configs.errors import MotionError
from ambulo.configs.motion_nn import MotionNNConfig
from ambulo.motion.human23 import N_POSITIONS
from ambulo.motion.rotations import quat_conjugate
from ambulo.policies.networks.motion_state import (
    STATE_SIZE,
    displaced,
    feature_size,
    features_of,
    heading_of,
    states_after,
    to_world,
)
from ambulo.policies.networks.motion_trunks import Ensemble

LARGEST = 8.0
"""Normalised inputs are cut off here: beyond lie faults of the data only."""


class MotionNN(nn.Module):
    """Predicts the next states of a human23 body from its last ones.

    What it sees has neither place nor direction, and the root's way is predicted in the
    frame of its heading: turning and moving the world turns and moves the prediction.
    One pass gives displacements from the last pose to each of the next `chunk` poses, so
    that joint rotations stay rotations and velocities fit the poses.
    """

    mean: Tensor
    deviation: Tensor
    scale: Tensor
    damping: Tensor
    linear: Tensor

    def __init__(self, config: MotionNNConfig) -> None:
        """With fresh weights; statistics of the data come by `set_statistics`."""
        super().__init__()
        self.config = config
        inputs = feature_size(config.features)
        outputs = config.chunk * N_POSITIONS
        self.trunk = Ensemble(inputs, config)
        self.head = nn.Linear(config.width, outputs)
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.zeros_(self.head.bias)
        if config.mode == "encoder":
            self.fill = nn.Linear(config.width, inputs)
        shapes = {
            "mean": (inputs,),
            "deviation": (inputs,),
            "scale": (config.chunk, N_POSITIONS),
        }
        if config.residual == "velocity":
            shapes["damping"] = (config.chunk, N_POSITIONS)
        elif config.residual == "linear":
            shapes["linear"] = (config.linear_frames * inputs + 1, outputs)
        for name, shape in shapes.items():
            one = name in ("deviation", "scale")
            self.register_buffer(name, torch.ones(shape) if one else torch.zeros(shape))

    @property
    def size(self) -> int:
        """Numbers of an encoding, F."""
        return self.config.width

    def set_statistics(self, **statistics: Tensor) -> None:
        """Fix what inputs and outputs are measured in, from training data.

        Args:
            **statistics: `mean` and `deviation` of each feature, (features,); `scale`,
                the size of what the base misses, (chunk, 56); and the base: `damping`,
                displacement by a velocity of one unit a frame, (chunk, 56), or `linear`,
                displacements from the normalised features of the last frames and a
                constant, (linear_frames * features + 1, chunk * 56). What the network's
                base does not need is passed over.
        """
        buffers = dict(self.named_buffers(recurse=False))
        for name, value in statistics.items():
            if name in buffers:
                buffers[name].copy_(value)

    def multiply(self, factors: Tensor) -> None:
        """Make the displacements of each frame of a chunk `factors` (chunk,) as large."""
        self.scale.mul_(factors[:, None])
        if self.config.residual == "velocity":
            self.damping.mul_(factors[:, None])
        elif self.config.residual == "linear":
            self.linear.mul_(factors.repeat_interleave(N_POSITIONS))

    def features(self, states: Tensor) -> Tensor:
        """Features (B, H, features) of the last H = `history` states, as they are.

        A shorter history is preceded by copies of its first state, standing still.
        """
        if states.ndim != 3 or states.shape[-1] != STATE_SIZE or not states.shape[1]:
            raise MotionError(
                f"states: expected shape (B, H, {STATE_SIZE}), got {tuple(states.shape)}"
            )
        length = self.config.history
        states = states[:, -length:]
        missing = length - states.shape[1]
        if missing:
            first = states[:, :1].expand(-1, missing, -1)
            still = torch.zeros_like(first[..., N_POSITIONS:])
            first = torch.cat([first[..., :N_POSITIONS], still], dim=-1)
            states = torch.cat([first, states], dim=1)
        return features_of(states, self.config.features)

    def inputs(self, states: Tensor) -> Tensor:
        """Normalised `features` (B, H, features) of states (B, any, 112)."""
        features = (self.features(states) - self.mean) / self.deviation
        return features.clamp(-LARGEST, LARGEST)

    def encode(self, states: Tensor) -> Tensor:
        """Features (B, F) of how the body moves, from states (B, H, 112)."""
        hidden: Tensor = self.trunk(self.inputs(states))
        return hidden[:, -1]

    def chunk_from(self, hidden: Tensor, inputs: Tensor, states: Tensor) -> Tensor:
        """Displacements (B, K, 56) from the last of `states`, in its heading's frame.

        Args:
            hidden: Output of the trunk for the last frame. Shape (B, 1, width).
            inputs: What the trunk saw. Shape (B, H, features).
            states: Shape (B, any, 112).
        """
        out = self.head(hidden[:, -1]).unflatten(-1, (self.config.chunk, N_POSITIONS))
        base = self._base(inputs[:, -self.config.linear_frames :], states[:, -1:])
        return out * self.scale + base[:, -1]

    def next_from(self, hidden: Tensor, inputs: Tensor, states: Tensor) -> Tensor:
        """Displacements (B, H, 56) of one frame from each state, in its heading's frame.

        Args:
            hidden: Output of the trunk. Shape (B, H, width).
            inputs: What the trunk saw. Shape (B, H, features).
            states: Shape (B, H, 112).
        """
        weight, bias = self.head.weight[:N_POSITIONS], self.head.bias[:N_POSITIONS]
        out = functional.linear(hidden, weight, bias)
        padding = inputs[:, :1].expand(-1, self.config.linear_frames - 1, -1)
        base = self._base(torch.cat([padding, inputs], dim=1), states, frames=1)
        return out * self.scale[0] + base[:, :, 0]

    def poses(self, states: Tensor) -> Tensor:
        """The next `chunk` poses (B, K, 56) after states (B, H, 112)."""
        inputs = self.inputs(states)
        hidden = self.trunk(inputs)[:, -1:]
        return self.poses_at(states, self.chunk_from(hidden, inputs, states))

    def poses_at(self, states: Tensor, displacements: Tensor) -> Tensor:
        """Poses (B, K, 56) that lie `displacements` (B, K, 56) from the last of `states`."""
        last = states[:, -1:, :N_POSITIONS]
        return displaced(last, to_world(displacements, heading_of(last)))

    def step(self, states: Tensor) -> Tensor:
        """The next state (B, 112) after states (B, H, 112)."""
        poses = self.poses(states)[:, :1]
        return states_after(states[:, -1], poses, self.config.fps)[:, 0]

    def rollout(self, states: Tensor, frames: int) -> Tensor:
        """The next `frames` states (B, frames, 112) after states (B, H, 112).

        Chunk after chunk: each is predicted from the states that were predicted before.
        """
        if frames < 1:
            raise MotionError(f"a roll-out has at least one frame, got {frames}")
        start = states.shape[1]
        while states.shape[1] < start + frames:
            after = states_after(states[:, -1], self.poses(states), self.config.fps)
            states = torch.cat([states, after], dim=1)
        return states[:, start : start + frames]

    def predict(self, states: NDArray[np.float32], frames: int) -> NDArray[np.float32]:
        """Return the next states, without gradients and as NumPy arrays.

        Args:
            states: Past states at `config.fps`: 56 positions, 56 velocities, oldest
                first. Shape (B, H, 112).
            frames: Number of frames, T.

        Returns:
            Shape (B, T, 112).
        """
        given = torch.as_tensor(states, dtype=torch.float32, device=self.mean.device)
        with torch.inference_mode():
            after: NDArray[np.float32] = self.rollout(given, frames).cpu().numpy()
        return after

    def forward(self, states: Tensor) -> Tensor:
        """`step`."""
        return self.step(states)

    def _base(
        self, inputs: Tensor, states: Tensor, frames: int | None = None
    ) -> Tensor:
        """Base of the network's output: displacements (B, T, frames, 56) from T states.

        Args:
            inputs: Features of the states and of `linear_frames` - 1 before them.
            states: Shape (B, T, 112).
            frames: How many frames of the chunk; None is all.
        """
        frames = frames or self.config.chunk
        shape = (frames, N_POSITIONS)
        if self.config.residual == "linear":
            weights = self.linear[:, : frames * N_POSITIONS]
            recent = inputs.unfold(1, self.config.linear_frames, 1).transpose(2, 3)
            out = recent.flatten(2) @ weights[:-1] + weights[-1]
            return out.reshape(*out.shape[:2], *shape)
        if self.config.residual == "zero":
            return states.new_zeros((*states.shape[:2], *shape))
        positions, velocities = states[..., :N_POSITIONS], states[..., N_POSITIONS:]
        heading = quat_conjugate(heading_of(positions))
        carried = to_world(velocities / self.config.fps, heading)
        return carried[:, :, None] * self.damping[:frames]
