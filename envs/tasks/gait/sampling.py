"""Sampling of gait parameters: drawn, fixed by the settings, or fixed by the body."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError, GaitParameterError
from ambulo.configs.gait import gait_space
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.reference.gait_legs import fixed_values
from ambulo.envs.reference.reference import Reference


def healthy_parameters(config: LocomotionConfig, reference: Reference) -> Floats:
    """A healthy adult's parameters, overridden by the fixed ones. Shape (P,).

    Raises:
        GaitParameterError: A fixed parameter is unknown or out of range.
    """
    space = gait_space(config.environment.character)
    values = space.vector(**fixed_parameters(config, reference))
    return values


def random_parameters(
    config: LocomotionConfig,
    reference: Reference,
    rng: np.random.Generator,
    count: int,
) -> Floats:
    """Random parameters as configured. Shape (count, P).

    Raises:
        ConfigError: `gait.impaired` for a body without muscles.
    """
    gait, space = config.gait, gait_space(config.environment.character)
    values = np.tile(healthy_parameters(config, reference), (count, 1))
    if not gait.sample:
        return values
    varies = varying(config)
    if gait.impaired is None:
        values = space.sample(rng, count)
    else:
        muscles = np.flatnonzero(varies)
        for row in values:
            some = rng.choice(muscles, min(gait.impaired, len(muscles)), replace=False)
            low, high = space.low[some], space.high[some]
            row[some] = low + rng.random(len(some)) * (high - low)
    for name, value in fixed_parameters(config, reference).items():
        values[:, space.index(name)] = value
    return values


def varying(config: LocomotionConfig) -> NDArray[np.bool_]:
    """Mask of the parameters that may be drawn, fixed ones included. (P,).

    Raises:
        ConfigError: `gait.impaired` for a body without muscles, or `gait.vary` without it.
        GaitParameterError: A name in `gait.vary` is unknown, or belongs to no muscle.
    """
    gait, space = config.gait, gait_space(config.environment.character)
    if gait.impaired is None:
        if gait.vary:
            raise ConfigError("gait.vary: names what gait.impaired draws; set that too")
        return np.ones(space.size, np.bool_)
    if space.known.all():
        raise ConfigError(f"gait.impaired: {space.name} has no muscles")
    if not gait.vary:
        return ~space.known
    varies = np.zeros(space.size, np.bool_)
    varies[[space.index(name) for name in gait.vary]] = True
    if (varies & space.known).any():
        name = space.names[int(np.argmax(varies & space.known))]
        raise GaitParameterError(f"gait.vary: {name} is no parameter of a muscle")
    return varies


def parameter_box(
    config: LocomotionConfig, reference: Reference
) -> tuple[Floats, Floats]:
    """Bounds of the parameters that `random_parameters` can draw. (P,) each.

    Raises:
        GaitParameterError: A fixed parameter is unknown or out of range.
    """
    gait, space = config.gait, gait_space(config.environment.character)
    low = healthy_parameters(config, reference)
    high = low.copy()
    if gait.sample:
        varies = varying(config)
        for name in fixed_parameters(config, reference):
            varies[space.index(name)] = False
        low[varies], high[varies] = space.low[varies], space.high[varies]
    return low, high


def fixed_parameters(
    config: LocomotionConfig, reference: Reference
) -> dict[str, float]:
    """Parameters that do not vary, by name."""
    space, fixed = gait_space(config.environment.character), {}
    if space.name == "myolegs":
        fixed = fixed_values(space, reference.table)
        for name, value in config.gait.parameters.items():
            if abs(value - fixed.get(name, value)) > 1e-6:
                raise GaitParameterError(
                    f"{name} = {value:g}: {space.name} walks its own gait, where it is "
                    f"{fixed[name]:.4g}; leave it out"
                )
    return {**config.gait.parameters, **fixed}
