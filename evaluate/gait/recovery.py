"""Errors of estimated gait parameters on motions that were not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.motion.gaits.gait_sets import GaitSet
from ambulo.policies.networks.gait_inverse import GaitEstimate, GaitInverse


@dataclass(frozen=True, eq=False)
class Recovery:
    """Errors on N gaits of P parameters."""

    names: tuple[str, ...]
    """The parameters."""
    gaits: int
    """N."""
    given: NDArray[np.bool_]
    """Which were given. Shape (P,)."""
    error: Floats
    """Mean size of the error over the range. Shape (P,)."""
    within: Floats
    """Share of the gaits with an error of at most 5 % of the range. Shape (P,)."""
    guess: Floats
    """Error of the mean of these gaits, a guess without any information. Shape (P,)."""
    identified: Floats
    """Share of the gaits whose motion decides the parameter. Shape (P,)."""
    identified_error: Floats
    """Mean error over the range where it does; NaN where it never does. Shape (P,)."""
    inside: Floats
    """Share of the gaits whose truth lies in the 95 % interval. Shape (P,)."""
    gaps: Floats
    """Absolute error over the range of each gait. Shape (N, P)."""

    @property
    def names_given(self) -> list[str]:
        """The parameters that were given."""
        return [n for n, known in zip(self.names, self.given, strict=True) if known]

    def as_dict(self) -> dict[str, Any]:
        """For JSON, by parameter."""
        columns = (
            "error", "within", "guess", "identified", "identified_error", "inside",
        )  # fmt: skip
        rows = {
            name: {column: float(getattr(self, column)[k]) for column in columns}
            for k, name in enumerate(self.names)
            if not self.given[k]
        }
        return {"gaits": self.gaits, "given": self.names_given, "parameters": rows}


def recover(inverse: GaitInverse, gaits: GaitSet, given: Sequence[str]) -> Recovery:
    """Estimate the parameters of held-out `gaits`, of which those of `given` are known."""
    space, found = inverse.space, []
    for row in range(len(gaits)):
        truth = space.denormalize(
            np.clip(gaits.params[row].astype(np.float64), 0.0, 1.0)
        )
        named = space.named(truth)
        known = {name: named[name] for name in given}
        found.append(inverse.estimate(gaits.motions[row], known, seed=row))
    return _scored(found, gaits)


def _scored(estimates: Sequence[GaitEstimate], gaits: GaitSet) -> Recovery:
    space = estimates[0].space
    scale = space.high - space.low
    truth = gaits.params.astype(np.float64)
    said = np.array([space.normalize(one.values) for one in estimates])
    doubt = np.array([one.deviation / scale for one in estimates])
    sure = np.array([one.identified for one in estimates])
    gap = np.abs(said - truth)
    counted = sure.sum(axis=0)
    total = (gap * sure).sum(axis=0)
    return Recovery(
        names=space.names,
        gaits=len(gaits),
        given=estimates[0].given,
        error=gap.mean(axis=0),
        within=(gap <= 0.05).mean(axis=0),
        guess=np.abs(truth - truth.mean(axis=0)).mean(axis=0),
        identified=sure.mean(axis=0),
        identified_error=np.where(counted > 0, total / np.maximum(counted, 1), np.nan),
        inside=(gap <= 1.96 * doubt + 1e-9).mean(axis=0),
        gaps=gap,
    )
