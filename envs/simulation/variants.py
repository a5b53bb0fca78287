"""Variants of a body: different friction, masses, control delay or ground."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.variation import VariationConfig
from ambulo.envs.simulation.terrain import Ground

ITERATIONS = 50
"""Solver iterations for another friction. The 4 of human23 suffice at its friction of 1; at 0.4
the contact forces are so wrong that bodies explode."""
_STREAM = 23
"""Seed offset that separates variants from episodes."""


@dataclass(frozen=True)
class Variant:
    """Differences of one body and its world from the nominal ones; none by default."""

    friction: float | None = None
    """Sliding friction of every contact; None: that of the model."""
    mass: float = 1.0
    """Factor on all masses and inertias."""
    segments: tuple[float, ...] = ()
    """Further factor on the mass and inertia of each body of the model but the world."""
    delay: float = 0.0
    """Time from an action to its effect, [s]."""
    ground: Ground | None = None
    """The ground; None: that of the settings."""

    def numbers(self) -> dict[str, Any]:
        """Return the numbers by field, as plain JSON, without the ground."""
        return {
            "friction": self.friction,
            "mass": self.mass,
            "segments": list(self.segments),
            "delay": self.delay,
        }

    def late(self, substep: float) -> int:
        """The delay in whole substeps of `substep`, [s]."""
        return round(self.delay / substep)

    def applied_to(self, model: mujoco.MjModel) -> mujoco.MjModel:
        """Return `model` with this friction and these masses: a copy where they differ."""
        factors = self.mass * np.array(self.segments or 1.0)
        if self.friction is None and (factors == 1.0).all():
            return model
        varied = copy.copy(model)
        if self.friction is not None:
            # MuJoCo takes the larger friction of the two geoms in contact.
            varied.geom_friction[:, 0] = self.friction
            varied.opt.iterations = max(varied.opt.iterations, ITERATIONS)
            varied.opt.ls_iterations = max(varied.opt.ls_iterations, ITERATIONS)
        if (factors != 1.0).any():
            varied.body_mass[1:] *= factors
            varied.body_inertia[1:] *= factors[..., None]
            mujoco.mj_setConst(varied, mujoco.MjData(varied))
        return varied


NOMINAL = Variant()
"""The body as its model describes it."""


def drawn_variants(
    config: VariationConfig, count: int, segments: int, seed: int
) -> list[Variant]:
    """Draw bodies whose values are spread evenly over their ranges.

    Each range is cut into `count` parts of equal size, and each part gives one value
    (Latin hypercube: McKay, Beckman and Conover, Technometrics 21(2), 1979).

    Args:
        config: Ranges.
        count: Number of bodies.
        segments: Number of bodies of the model but the world.
        seed: Seed of the draws.
    """
    rng = np.random.default_rng([seed, _STREAM])

    def spread(span: tuple[float, float]) -> Floats:
        share = (rng.permutation(count) + rng.random(count)) / count
        return np.asarray(span[0] + share * (span[1] - span[0]))

    friction, mass, delay = (
        spread(span)
        for span in (config.friction or (0.0, 0.0), config.mass, config.delay)
    )
    each = np.array([spread(config.segment_mass) for _ in range(segments)])
    plain = config.segment_mass == (1.0, 1.0)
    return [
        Variant(
            None if config.friction is None else float(friction[k]),
            float(mass[k]),
            () if plain else tuple(each[:, k].tolist()),
            float(delay[k]),
        )
        for k in range(count)
    ]
