"""`ambulo gait generate`: a walk of chosen parameters, as a motion file or a film."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ambulo.commands.gait.networks import (
    add_model_flag,
    add_parameter_flags,
    open_network,
    parameters_of,
)
from ambulo.common.files import check_parent
from ambulo.common.paths import resolve_path
from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError, MotionFileError
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


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `generate` to the actions of `ambulo gait`."""
    parser = actions.add_parser(
        "generate",
        help="write a walk of chosen stride, cadence and body",
        description="Write a walk of chosen parameters. It repeats without a seam: the "
        "frame after the last is the first, one way further on.",
        epilog="examples:\n"
        "  ambulo gait generate --stride 1.1 --cadence 0.9 --out walk.bvh\n"
        "  ambulo gait generate --set global=0.9 --cycles 8 --fps 60 --out walk.npz\n"
        "  ambulo gait generate --stride 0.8 --out walk.gif",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_parameter_flags(parser)
    parser.add_argument(
        "--out", metavar="FILE",
        help=f"file to write: {', '.join((*WRITTEN, *FILMS))}",
    )  # fmt: skip
    parser.add_argument(
        "--cycles", type=int, default=6, metavar="N", help="two steps each (default: 6)"
    )
    parser.add_argument(
        "--fps", type=float, metavar="HZ",
        help="rate, rounded so that a cycle is a whole number of frames (default: 30 "
        "frames a cycle)",
    )  # fmt: skip
    parser.add_argument(
        "--parameters", action="store_true",
        help="list the network's parameters with their ranges, and leave",
    )  # fmt: skip
    add_model_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Generate; 0."""
    if not args.parameters:
        _check(args)
    network = open_network(args)
    if args.parameters:
        _list(network)
        return 0
    values = parameters_of(args, network)
    motion, facts = generated(network, values, args.cycles, args.fps)
    path = resolve_path(args.out)
    if path.suffix.lower() in FILMS:
        from ambulo.viz.gait_films import write_walk

        write_walk(path, network, values, args.cycles)
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


def _check(args: argparse.Namespace) -> None:
    """Refuse what cannot be written before anything is loaded."""
    if args.out is None:
        raise ConfigError("--out FILE: name the file to write")
    check_parent(args.out)
    if Path(args.out).suffix.lower() not in (*WRITTEN, *FILMS):
        raise MotionFileError(
            args.out, 0, f"its ending must be one of {', '.join((*WRITTEN, *FILMS))}"
        )
    if not 1 <= args.cycles <= MOST_CYCLES:
        raise ConfigError(f"--cycles {args.cycles}: must be in [1, {MOST_CYCLES}]")
    if args.fps is not None and Path(args.out).suffix.lower() in FILMS:
        raise ConfigError("--fps: films have rates of their own; leave it out")
    if args.fps is not None and not 4.0 <= args.fps <= 1000.0:
        raise ConfigError(f"--fps {args.fps:g}: must be in [4, 1000]")


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
