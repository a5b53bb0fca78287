"""Running statistics that bring observations to a common size."""

from __future__ import annotations

import torch
from torch import Tensor, nn

LIMIT = 8.0
"""Normalised numbers are cut off here: beyond lie faults and falls."""
SMALLEST = 1e-4
"""Deviations below this count as this: a number that hardly varies carries no information."""


class Normalizer(nn.Module):
    """Subtracts the mean and divides by the deviation of what it has seen.

    Statistics move only in `update`, so that a roll-out and the update that learns from
    it see the same numbers. After `samples` observations they stand still.
    """

    mean: Tensor
    deviation: Tensor
    count: Tensor

    def __init__(self, size: int, samples: int, smallest: float = SMALLEST) -> None:
        """For observations (N, size); nothing seen yet, so nothing is changed.

        Args:
            size: numbers of an observation.
            samples: observations after which the statistics stand still.
            smallest: deviations that fall below it count as it.
        """
        super().__init__()
        self.samples, self.smallest = samples, smallest
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("deviation", torch.ones(size))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, observations: Tensor) -> Tensor:
        """Normalised observations, same shape."""
        return ((observations - self.mean) / self.deviation).clamp(-LIMIT, LIMIT)

    @torch.no_grad()
    def update(self, observations: Tensor, smallest: float | None = None) -> None:
        """Take observations (N, size) into the statistics.

        Deviations may come down to `smallest`; None: to that of the normaliser, but for those
        that are below it already.

        T. Chan, G. Golub and R. LeVeque, Updating Formulae and a Pairwise Algorithm for
        Computing Sample Variances, 1979.
        """
        before = self.count.double()
        if not len(observations) or before >= self.samples:
            return
        new = observations.double()
        number = torch.as_tensor(float(len(new)), dtype=torch.float64)
        total = before + number
        shift = new.mean(dim=0) - self.mean
        mean = self.mean + shift * number / total
        old = self.deviation.double().square() * before
        spread = old + new.var(dim=0, unbiased=False) * number
        spread = spread + shift.square() * before * number / total
        self.mean.copy_(mean)
        least = self.deviation.clamp(max=self.smallest)
        if smallest is not None:
            least = torch.full_like(least, smallest)
        self.deviation.copy_((spread / total).sqrt().clamp(min=least))
        self.count.copy_(total)

    @torch.no_grad()
    def freeze(self) -> None:
        """From now on the statistics stand still."""
        self.count.clamp_(min=float(self.samples))
