"""`ambulo gait generate`: a walk of chosen parameters, as a motion file or a film."""

from __future__ import annotations

import sys

from ambulo.commands.gait.flags import GenerateFlags
from ambulo.common.paths import resolve_path
from ambulo.configs.arrays import Floats
from ambulo.evaluate.gait.curves import GaitFacts, facts_of
from ambulo.motion.formats.files import write_motion
from ambulo.motion.gaits.frames import frame_rate
from ambulo.motion.motion import Motion
from ambulo.policies.agents.gait_network import GaitNetwork

SKATE = 0.25
"""Speed of standing feet above which a warning is printed, [m/s]."""
SUNK = 0.03
"""Depth of feet in the ground above which a warning is printed, [m]."""


def generate(flags: GenerateFlags) -> int:
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
    """Return warnings about the feet, one line each."""
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
        note = f"healthy {parameter.default:.3g}"
        if parameter.name in network.held:
            note = f"held at {network.held[parameter.name]:.3g}"
        print(
            f"  {parameter.name:<34} {parameter.low:>7.3g} to {parameter.high:<7.3g} "
            f"{note:<13} {parameter.group}"
        )
