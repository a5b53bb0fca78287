"""References of bodies with gait parameters, and the balance controller of all of them.

All bodies share the balance controller of the shipped healthy gait. A body follows its own
gait with its own feed-forward torque under that controller. Nothing is linearised for it, so
that a new body costs a fraction of a second.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

import ambulo.shipped
from ambulo.configs.gait import GaitSpace, gait_space
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.gait_body import gait_body
from ambulo.envs.reference.cached import cached_reference
from ambulo.envs.reference.cycles.building import gait_of
from ambulo.envs.reference.cycles.prepare import physical_cycle
from ambulo.envs.reference.reference import Reference, ReferenceMotion, load_reference
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.motion.gaits.scaled_walk import gait_cycle


def healthy_gait(config: LocomotionEnvironmentConfig) -> Reference:
    """The healthy body's gait with the balance controller of all bodies.

    For rates or joints other than the shipped one's it is made, with a controller of the
    healthy body alone, which holds fewer bodies; that takes some seconds.
    """
    default = LocomotionEnvironmentConfig()
    names = ("joints", "control_rate", "substeps", "character")
    usual = all(getattr(config, name) == getattr(default, name) for name in names)
    shipped = shipped_gait()
    if usual and shipped is not None:
        return load_reference(shipped)
    key = config.model_dump(mode="json")
    return cached_reference(key, None, lambda: _made(config))


def shipped_gait() -> Path | None:
    """The file of the shipped healthy gait, if it is installed."""
    return ambulo.shipped.shipped_models().get("gait_law")


def _made(config: LocomotionEnvironmentConfig) -> Reference:
    """The healthy gait for other rates or joints."""
    space = gait_space(config.character)
    body = gait_body(space, space.default)
    body.model.opt.timestep = config.control_dt / config.substeps
    cycle = gait_cycle(space, space.default, body.soles)
    prepared = physical_cycle(cycle, body.model, body.soles, warn=False)
    gait = gait_of(prepared, body, config.joints, config.control_dt)
    return Reference.of("healthy gait", body, config.control_dt, [gait])


def gait_reference(
    space: GaitSpace, values: ArrayLike, character: Character, healthy: Reference
) -> Reference:
    """Reference of the body `character` with the gait parameters `values` (P,).

    Args:
        space: Of the parameters.
        values: The parameters.
        character: Their body (`gait_body`).
        healthy: Made by `healthy_gait`, or read from a model file.

    Raises:
        MotionError: Parameters whose gait the body cannot make.
    """
    table, report = _prepared(
        space, np.asarray(values, np.float64).tobytes(), character
    )
    gait = ReferenceMotion(table, healthy.controller, report)
    return Reference.of("gait", character, healthy.control_dt, [gait])


@lru_cache(maxsize=8)
def _prepared(
    space: GaitSpace, values: bytes, character: Character
) -> tuple[ReferenceTable, dict[str, float]]:
    """The table of a body's gait, and how physical it is."""
    row = np.frombuffer(values)
    cycle = gait_cycle(space, row, character.soles)
    shown = ", ".join(f"{name} {value:.2f}" for name, value in space.named(row).items())
    prepared = physical_cycle(
        cycle, character.model, character.soles, name=f"gait {shown}", warn=False
    )
    gait = gait_of(prepared, character, (), None)
    return gait.table, gait.report
