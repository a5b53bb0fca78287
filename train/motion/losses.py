"""Loss terms of motion networks; every term can be switched off."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import huber_loss

from ambulo.configs.motion_nn import MotionRunConfig
from ambulo.motion.human23 import N_POSITIONS
from ambulo.motion.rotations import quat_conjugate
from ambulo.policies.networks.motion_nn import MotionNN
from ambulo.policies.networks.motion_state import (
    displacement,
    heading_of,
    joints_after,
    states_after,
    to_world,
)
from ambulo.train.motion.statistics import Statistics

Terms = dict[str, Tensor]


class MotionLoss:
    """The training loss of a batch of windows."""

    def __init__(
        self, config: MotionRunConfig, statistics: Statistics, device: torch.device
    ) -> None:
        """Weights of `config`; scales of `statistics`."""
        self._weights, self._training = config.loss, config.training
        self._device = device
        self._chunk, self._fps = config.model.chunk, config.model.fps
        self._masked = config.model.mode == "encoder"
        self._every_frame = config.model.mode == "transformer_reg"
        balance = config.loss.balance
        ones = torch.ones_like(statistics.scale)
        self._scale = (statistics.scale if balance else ones).to(device)
        velocity = statistics.velocity
        self._velocity = (velocity if balance else torch.ones_like(velocity)).to(device)
        near = statistics.joints.mean() / statistics.joints
        self._near = (near if balance else torch.ones_like(near)).to(device)

    def __call__(
        self, network: MotionNN, windows: Tensor, rng: np.random.Generator
    ) -> Terms:
        """Each weighted term and their sum, "loss".

        Args:
            network: In training mode.
            windows: States (B, T, 112), T at least `config.window`.
            rng: Draws whether this batch is a roll-out, and frames and masks.
        """
        rollout = rng.random() < self._training.rollout_ratio
        left = self._training.rollout_steps if rollout else 0
        start = network.config.history
        states, parts = windows[:, :start], []
        while True:
            future = windows[:, start : start + self._chunk]
            fed = min(left, self._chunk)
            terms, displacements = self._pass(network, states, future, rng)
            parts.append(terms)
            if not fed:
                break
            poses = network.poses_at(states, displacements[:, :fed])
            after = states_after(states[:, -1], poses, self._fps)
            states = torch.cat([states, after], dim=1)[:, -network.config.history :]
            start, left = start + fed, left - fed
        names = {name for part in parts for name in part}
        mean = {
            name: torch.stack([p[name] for p in parts if name in p]).mean()
            for name in sorted(names)
        }
        mean["loss"] = torch.stack(list(mean.values())).sum()
        return mean

    def _pass(
        self,
        network: MotionNN,
        states: Tensor,
        future: Tensor,
        rng: np.random.Generator,
    ) -> tuple[Terms, Tensor]:
        """Terms of one chunk predicted from `states`, and its displacements."""
        features = network.inputs(states)
        seen = features
        if self._training.noise:
            offset = torch.randn_like(features[:, :1])
            offset[..., -N_POSITIONS:] = 0.0  # velocities stay those of the poses
            seen = features + self._training.noise * offset
        terms: Terms = {}
        if self._masked:
            hidden = self._fill(network, features, seen, rng, terms)
        else:
            hidden = self._hidden(network, seen)
        displacements = network.chunk_from(hidden[:, -1:], features, states)
        self._judge(states, displacements, future, rng, terms)
        if self._every_frame and states.shape[1] > 1 and self._weights.position:
            ways = network.next_from(hidden, features, states)[:, :-1]
            error = ways - self._next_ways(states)
            scaled = error / self._scale[0]
            terms["every_frame"] = self._weights.position * self._penalty(scaled)
        return terms, displacements

    def _fill(
        self,
        network: MotionNN,
        features: Tensor,
        seen: Tensor,
        rng: np.random.Generator,
        terms: Terms,
    ) -> Tensor:
        """Hidden states of the history with masked frames, whose features are a term."""
        drawn = rng.random(features.shape[:2]) < self._training.mask_ratio
        drawn[:, -1] &= rng.random(len(drawn)) < 0.5  # it must predict from the last
        hidden_frames = torch.from_numpy(drawn).to(features.device)
        masked = self._hidden(network, seen, hidden_frames)
        if self._weights.masked:
            error = (network.fill(masked) - features).square().mean(-1)
            share = (error * hidden_frames).sum() / hidden_frames.sum().clamp_min(1)
            terms["masked"] = self._weights.masked * share
        return self._hidden(network, seen)

    def _hidden(self, network: MotionNN, *inputs: Tensor) -> Tensor:
        """Output of the trunk, in bfloat16 inside where a GPU has it.

        Outside of it rotations and metres need all digits of float32.
        """
        half = self._device.type == "cuda" and torch.cuda.is_bf16_supported()
        with torch.autocast(self._device.type, torch.bfloat16, enabled=half):
            hidden: Tensor = network.trunk(*inputs)
        return hidden.float()

    def _judge(
        self,
        states: Tensor,
        displacements: Tensor,
        future: Tensor,
        rng: np.random.Generator,
        terms: Terms,
    ) -> None:
        """Add the terms that compare predicted with true displacements (B, K, 56)."""
        weights = self._weights
        last = states[:, -1:, :N_POSITIONS]
        unturn = quat_conjugate(heading_of(last))
        true = to_world(displacement(last, future[..., :N_POSITIONS]), unturn)
        error = displacements - true
        if weights.position:
            scaled = error / self._scale
            terms["position"] = weights.position * self._penalty(scaled)
        if weights.velocity:
            rates = torch.diff(error, dim=1, prepend=torch.zeros_like(error[:, :1]))
            scaled = rates * self._fps / self._velocity
            terms["velocity"] = weights.velocity * self._penalty(scaled)
        if weights.joints:
            frames = self._frames(rng)
            away = joints_after(last, displacements[:, frames])
            away = away - joints_after(last, true[:, frames])
            distance = (away.square().sum(-1) + 1e-8).sqrt().mean((0, 2))
            terms["joints"] = weights.joints * (distance * self._near[frames]).mean()
        if weights.smoothness:
            carried = to_world(states[:, -1:, N_POSITIONS:] / self._fps, unturn)
            start = torch.cat([-carried, torch.zeros_like(carried)], dim=1)
            ways = torch.cat([start, displacements], dim=1)
            bend = torch.diff(ways, n=2, dim=1) * self._fps / self._velocity
            terms["smoothness"] = weights.smoothness * self._penalty(bend)

    def _penalty(self, scaled: Tensor) -> Tensor:
        """Mean square; beyond `robust` it grows in proportion (Huber, 1964)."""
        robust = self._weights.robust
        if not robust:
            return scaled.square().mean()
        return 2.0 * huber_loss(scaled, torch.zeros_like(scaled), delta=robust)

    def _frames(
        self, rng: np.random.Generator
    ) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The first frame of a chunk, and others drawn from it, sorted."""
        others = np.arange(1, self._chunk)
        count = min(self._weights.frames - 1, len(others))
        drawn = rng.choice(others, count, replace=False) if count else others[:0]
        return np.sort(np.concatenate([[0], drawn])).astype(np.int64)

    def _next_ways(self, states: Tensor) -> Tensor:
        """Displacement from each state but the last to the next, in its heading's frame."""
        before = states[:, :-1, :N_POSITIONS]
        ways = states[:, 1:, N_POSITIONS:] / self._fps
        return to_world(ways, quat_conjugate(heading_of(before)))
