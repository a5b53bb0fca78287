"""Samples of imitation with left and right changed."""

from __future__ import annotations

import torch
from torch import Tensor

from ambulo.envs.locomotion.mirroring import (
    mirror_of_actions,
    mirror_of_observations,
)
from ambulo.envs.locomotion.protocol import WalkerBatch


class Mirrored:
    """Changes left and right of every second sample of a minibatch."""

    def __init__(self, batch: WalkerBatch) -> None:
        """Look up how observations and actions of `batch` are mirrored."""
        body, dofs = batch.character, batch.dofs
        seen = mirror_of_observations(batch.layout, body, dofs)
        moved = mirror_of_actions(body, dofs)
        self._parts = [
            (torch.as_tensor(part.source), torch.as_tensor(part.sign))
            for part in (seen, moved)
        ]

    def __call__(self, obs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return observations (B, size) and actions (B, A), the first half mirrored."""
        half = len(obs) // 2
        out = []
        for values, (source, sign) in zip((obs, actions), self._parts, strict=True):
            changed = values[:half, source.to(values.device)] * sign.to(values.device)
            out.append(torch.cat([changed, values[half:]]))
        return out[0], out[1]
