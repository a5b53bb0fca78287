"""References of bodies with gait parameters, and the law that balances them.

The balance law is that of the healthy body. A body with other parameters follows its own
gait, with its own torque, under that law; nothing is linearised for it, so that a new body
costs a fraction of a second.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ambulo.configs.gait import GaitSpace, gait_space
from ambulo.configs.locomotion import EnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.gait.body import gait_body
from ambulo.envs.locomotion.reference import Gait, Reference, gait_of
from ambulo.envs.locomotion.reference_table import ReferenceTable
from ambulo.motion.reference.gait_cycle import gait_cycle
from ambulo.motion.reference.prepare import physical_cycle


def healthy_gait(config: EnvironmentConfig) -> Reference:
    """The healthy body's gait with its balance law; takes ten seconds."""
    space = gait_space(config.character)
    body = gait_body(space, space.default)
    body.model.opt.timestep = config.control_dt / config.substeps
    cycle = gait_cycle(space, space.default, body.soles)
    prepared = physical_cycle(cycle, body.model, body.soles, name="healthy gait")
    gait = gait_of(prepared, body, config.joints, config.control_dt)
    return Reference("healthy gait", config.character, config.control_dt, (gait,))


def gait_reference(
    space: GaitSpace, values: ArrayLike, character: Character, healthy: Reference
) -> Reference:
    """What the body `character` of `values` (P,) follows.

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
    gait = Gait(table, healthy.law, report)
    return Reference("gait", character.name, healthy.control_dt, (gait,))


@lru_cache(maxsize=8)
def _prepared(
    space: GaitSpace, values: bytes, character: Character
) -> tuple[ReferenceTable, dict[str, float]]:
    """The table of a body's gait, and how physical it is."""
    row = np.frombuffer(values)
    cycle = gait_cycle(space, row, character.soles)
    told = ", ".join(f"{name} {value:.2f}" for name, value in space.named(row).items())
    prepared = physical_cycle(
        cycle, character.model, character.soles, name=f"gait {told}", warn=False
    )
    gait = gait_of(prepared, character, (), None)
    return gait.table, gait.report
