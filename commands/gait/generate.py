"""`ambulo gait generate`: a walk of chosen parameters, as a motion file or a film."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ambulo.commands.gait.networks import ParameterFlags
from ambulo.common.command_line import Arg, command
from ambulo.common.flag_types import OutFile, ending, within
from ambulo.common.paths import resolve_path
from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError
from ambulo.evaluate.gait.curves import GaitFacts, facts_of
from ambulo.motion.formats.files import WRITTEN, write_motion
from ambulo.motion.gaits.frames import frame_rate
from ambulo.motion.motion import Motion
from ambulo.policies.agents.gait_network import GaitNetwork

FILMS = (".gif", ".mp4")
"""Endings of films."""
SKATE = 0.25
"""Standing feet that slide faster than this are told, [m/s]."""
SUNK = 0.03
"""Feet that are deeper in the ground, or that hang higher over it, are told, [m]."""
MOST_CYCLES = 10_000
"""A longer walk is a slip of the pen."""


@dataclass(frozen=True, kw_only=True)
class GenerateFlags(ParameterFlags):
    """Write a walk of chosen parameters.

    It repeats without a seam: the frame after the last is the first, one stride further on.
    """

    out: Annotated[OutFile | None, ending(*WRITTEN, *FILMS)] = None
    """file to write: a motion (.bvh, .amc, .npz) or a film (.gif, .mp4)"""
    cycles: Annotated[int, within(1, MOST_CYCLES)] = 6
    """two steps each"""
    fps: Annotated[float | None, Arg("HZ"), within(4.0, 1000.0)] = None
    """rate, rounded so that a cycle is a whole number of frames (default: 30 frames a
    cycle)"""
    parameters_only: Annotated[bool, Arg(names=("--parameters",))] = False
    """list the network's parameters with their ranges, and leave"""

    def __post_init__(self) -> None:
        """Refuse a missing file, and rates of films."""
        super().__post_init__()
        if self.out is None and not self.parameters_only:
            raise ConfigError("--out FILE: name the file to write")
        if self.fps is not None and self.is_film:
            raise ConfigError("--fps: films have rates of their own; leave it out")

    @property
    def is_film(self) -> bool:
        """Whether a film is written."""
        return self.out is not None and Path(self.out).suffix.lower() in FILMS


@command(
    "ambulo gait generate",
    """\
examples:
  ambulo gait generate --stride 1.1 --cadence 0.9 --out walk.bvh
  ambulo gait generate --set global=0.9 --cycles 8 --fps 60 --out walk.npz
  ambulo gait generate --stride 0.8 --out walk.gif
""",
)
def main(flags: GenerateFlags) -> int:
    """Write a walk."""
    network = flags.network()
    if flags.out is None or flags.parameters_only:
        _list(network)
        return 0
    values = flags.parameters(network)
    motion, facts = generated(network, values, flags.cycles, flags.fps)
    path = resolve_path(flags.out)
    if flags.is_film:
        from ambulo.viz.gait_films import write_walk

        write_walk(path, network, values, flags.cycles)
    else:
        write_motion(path, motion)
    print(described(motion, facts))
    for line in doubts(facts):
        print(f"warning: {line}", file=sys.stderr)
    print(f"written: {path}")
    return 0


def generated(
    network: GaitNetwork, values: Floats, cycles: int, fps: float | None = None
) -> tuple[Motion, GaitFacts]:
    """The walk of parameters (P,) without a seam, and its facts.

    Args:
        network: What says how such a walk is.
        values: In their units.
        cycles: How many.
        fps: Wanted rate, [Hz].
    """
    longer = network.to_motion(values, cycles + 1, fps)
    frames = len(longer) // (cycles + 1)
    facts = facts_of(longer[: cycles * frames + 1], frames)
    return longer[: cycles * frames], facts


def described(motion: Motion, facts: GaitFacts) -> str:
    """The facts in a line."""
    return (
        f"{facts.speed:.2f} m/s, strides of {facts.stride_length:.2f} m, "
        f"{facts.steps_per_minute:.0f} steps a minute; standing feet slide at "
        f"{facts.skate:.2f} m/s; {len(motion)} frames at {motion.fps:.2f} fps"
    )


def doubts(facts: GaitFacts) -> list[str]:
    """What is wrong with the feet, one line each."""
    lines = []
    if facts.skate > SKATE:
        lines.append(f"standing feet slide at {facts.skate:.2f} m/s")
    if facts.lowest < -SUNK:
        lines.append(f"feet reach {-100.0 * facts.lowest:.0f} cm into the ground")
    return lines


def _list(network: GaitNetwork) -> None:
    space = network.space
    rate = frame_rate(space, network.vector()) / 30.0
    print(
        f"{space.name}: {space.size} parameters; healthy: {120.0 * rate:.0f} steps a minute"
    )
    for parameter in space.parameters:
        told = f"healthy {parameter.default:.3g}"
        if parameter.name in network.held:
            told = f"held at {network.held[parameter.name]:.3g}"
        print(
            f"  {parameter.name:<34} {parameter.low:>7.3g} to {parameter.high:<7.3g} "
            f"{told:<13} {parameter.group}"
        )
