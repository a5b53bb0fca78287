"""`ambulo fit-twin`: measure a walker, and write the fast model that navigation trains on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from ambulo.common.command_line import Arg, Flags, command
from ambulo.common.files import write_atomic
from ambulo.common.flag_types import Count, OutFile, Seed, positional, rule
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError

if TYPE_CHECKING:
    from ambulo.configs.twin import TwinConfig

EPILOG = """\
examples:
  ambulo fit-twin locomote --out locomote_twin.json
  ambulo train vr --preset embodied_quick --set environment.twin=locomote_twin.json
"""


@dataclass(frozen=True, kw_only=True)
class FitTwinFlags(Flags):
    """Measure a walker on free ground and at a wall, and fit its twin."""

    walker: Annotated[str, positional("WALKER")]
    """shipped walker by name, or model file"""
    out: OutFile
    """JSON file to write"""
    body: Annotated[str, Arg("NAME")] = "human23"
    """its body"""
    walkers: Count = 64
    """bodies at once"""
    rounds: Count = 4
    """rounds of walks into the wall"""
    fastest: Annotated[
        float, Arg("SPEED"), rule(lambda speed: speed > 0.0, "must be over 0 m/s")
    ] = math.inf
    """fastest command, [m/s], such as actions.max_movement_speed of the agents that it is
    for; inf: the walker's"""
    seed: Seed = 0
    """seed of everything random"""


@command("ambulo fit-twin", EPILOG)
def main(flags: FitTwinFlags) -> int:
    """Measure a walker and write its twin."""
    from ambulo.common.console import announce

    twin = measured_twin(flags)
    path = resolve_path(flags.out)
    write_atomic(path, twin.to_json())
    announce(f"twin of {twin.walker}: {path}")
    return 0


def measured_twin(flags: FitTwinFlags) -> TwinConfig:
    """Measure and fit, with a line for each part."""
    from ambulo.commands.twin.fit import fit_twin
    from ambulo.commands.twin.measure import (
        SLOWEST,
        free_walks,
        joined,
        slowed,
        wall_walks,
    )
    from ambulo.common.console import announce
    from ambulo.envs.vr.body.walker import find_walker

    walker = find_walker(flags.walker, flags.body)
    least = max(SLOWEST, walker.envelope.speed[0])
    if flags.fastest < least:
        raise ConfigError(
            f"--fastest {flags.fastest:g}: {walker.name} is measured from {least:g} m/s on"
        )
    announce(f"{flags.walkers} walkers on free ground ...")
    free = free_walks(walker, flags.walkers, flags.seed, flags.fastest)
    announce(f"{flags.rounds} x {flags.walkers} walkers at a wall ...")
    rounds = [
        wall_walks(walker, flags.walkers, flags.seed + k, flags.fastest)
        for k in range(flags.rounds)
    ]
    announce("fitting ...")
    twin = fit_twin(walker, free, joined(rounds))
    # Faster sticks are refused: nothing is known about them.
    return twin.model_copy(update={"envelope": slowed(walker.envelope, flags.fastest)})
