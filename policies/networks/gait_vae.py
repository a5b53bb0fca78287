"""A small variational network from a motion to its gait parameters.

As published for the backward direction of GaitNet: the encoder sees two cycles of poses
and the given parameters, the decoder turns 32 latent numbers and the given parameters
into the others, and a frozen forward network says what poses these make.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import GaitDataError
from ambulo.configs.gait import GaitSpace
from ambulo.configs.gait_vae import GaitVAEConfig
from ambulo.motion.human23 import N_SIXDOF
from ambulo.policies.networks.gait_inverse import (
    IDENTIFIED,
    PRIOR_DEVIATION,
    GaitEstimate,
)

FRAMES = 60
"""Frames that the encoder sees: two cycles."""
SLOPE = 0.2
"""Of the leaky rectifiers below 0."""


class GaitVAE(nn.Module):
    """Encoder and decoder; the parameters they estimate are normalised, 0 to 1."""

    mean: Tensor
    deviation: Tensor
    free: Tensor
    known: Tensor

    def __init__(self, space: GaitSpace, config: GaitVAEConfig) -> None:
        """With fresh weights (Xavier); see `set_statistics`.

        Raises:
            GaitParameterError: A given parameter that the space does not have.
            GaitDataError: Nothing is left to be estimated.
        """
        super().__init__()
        self.space, self.config = space, config
        known = sorted(space.index(name) for name in config.given)
        free = [k for k in range(space.size) if k not in known]
        if not free:
            raise GaitDataError("every parameter is given: nothing to estimate")
        hidden, latent = config.hidden, config.latent
        self.encoder = _layers(FRAMES * N_SIXDOF + len(known), hidden, 2 * latent)
        self.decoder = _layers(latent + len(known), hidden, len(free))
        self.register_buffer("mean", torch.zeros(N_SIXDOF))
        self.register_buffer("deviation", torch.ones(N_SIXDOF))
        self.register_buffer("free", torch.tensor(free), persistent=False)
        self.register_buffer("known", torch.tensor(known).long(), persistent=False)

    def set_statistics(self, mean: Tensor, deviation: Tensor) -> None:
        """What poses (..., 101) are measured in, from training data; each (101,)."""
        self.mean.copy_(mean)
        self.deviation.copy_(deviation)

    def encode(self, poses: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log variance (B, latent) of poses (B, 60, 101) and given (B, G)."""
        scaled = ((poses - self.mean) / self.deviation).flatten(1)
        mean, log_variance = self.encoder(torch.cat([scaled, known], dim=1)).chunk(2, 1)
        return mean, log_variance.clamp(-12.0, 6.0)

    def decode(self, latent: Tensor, known: Tensor) -> Tensor:
        """All parameters (B, P), normalised: the given ones and what `latent` says."""
        found = torch.sigmoid(self.decoder(torch.cat([latent, known], dim=1)))
        out = found.new_zeros(found.shape[0], self.space.size)
        out = out.index_copy(1, self.free, found)
        return out.index_copy(1, self.known, known)

    def forward(self, poses: Tensor, params: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Parameters (B, P) of a drawn latent, and the latent's mean and log variance.

        Args:
            poses: Two cycles, (B, 60, 101).
            params: Normalised parameters (B, P), of which only the given ones are seen.
        """
        known = params[:, self.known]
        mean, log_variance = self.encode(poses, known)
        drawn = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        return self.decode(drawn, known), mean, log_variance

    @torch.no_grad()
    def estimate(
        self,
        poses: Floats,
        given: Mapping[str, float] | None = None,
        *,
        spread: Floats | None = None,
        samples: int = 256,
        seed: int = 0,
    ) -> GaitEstimate:
        """The parameters of a motion: mean and deviation over the latent.

        Args:
            poses: Two cycles of 30 frames, (60, 101).
            given: The values of `config.given`, in their units.
            spread: Error of each normalised parameter on held-out motions, which the
                latent alone does not know, (P,).
            samples: Draws of the latent.
            seed: Of the draws.

        Raises:
            GaitDataError: Another shape, or a given parameter is missing.
        """
        array = np.asarray(poses, dtype=np.float64)
        if array.shape != (FRAMES, N_SIXDOF) or not np.isfinite(array).all():
            raise GaitDataError(
                f"poses: expected two cycles of finite numbers, shape ({FRAMES}, "
                f"{N_SIXDOF}), got {array.shape}"
            )
        values = dict(given or {})
        missing = [name for name in self.config.given if name not in values]
        if missing:
            raise GaitDataError(f"this estimator must be told {', '.join(missing)}")
        row = self.space.normalize(self.space.vector(**values))
        known = torch.as_tensor(row, dtype=torch.float32)[None][:, self.known]
        seen = torch.as_tensor(array, dtype=torch.float32)[None]
        mean, log_variance = self.encode(seen, known)
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn((samples, mean.shape[1]), generator=generator)
        drawn = mean + torch.exp(0.5 * log_variance) * noise
        found = self.decode(drawn, known.expand(samples, -1)).double().numpy()
        deviation = found.std(axis=0)
        if spread is not None:
            deviation = np.hypot(deviation, spread)
        free = np.zeros(self.space.size, dtype=np.bool_)
        free[self.free.numpy()] = True
        deviation[~free] = 0.0
        best = self.decode(mean, known).double().numpy()[0]
        best[~free] = row[~free]
        return GaitEstimate(
            space=self.space,
            values=self.space.denormalize(best),
            deviation=deviation * (self.space.high - self.space.low),
            given=~free,
            identified=~free | (deviation < IDENTIFIED * PRIOR_DEVIATION),
        )


def _layers(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """Three hidden layers with leaky rectifiers."""
    sizes = (inputs, hidden, hidden, hidden)
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.LeakyReLU(SLOPE)]
    layers.append(nn.Linear(hidden, outputs))
    for layer in layers:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)
