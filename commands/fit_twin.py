"""`ambulo fit-twin`: measure a walker, and write the fast model that navigation trains on."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

from ambulo.common.console import announce
from ambulo.common.errors import Parser, front_door
from ambulo.common.files import check_parent, write_atomic
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError
from ambulo.configs.twin import TwinConfig

EPILOG = """\
examples:
  ambulo fit-twin locomote --out locomote_twin.json
  ambulo train vr --preset embodied_quick --set environment.twin=locomote_twin.json
"""


def make_parser() -> Parser:
    """Return the command line."""
    parser = Parser(
        prog="ambulo fit-twin",
        description="Measure a walker on free ground and at a wall, and fit its twin.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("walker", metavar="WALKER", help="shipped walker by name, or model file")
    add("--out", metavar="FILE", required=True, help="JSON file to write")
    add("--body", default="human23", metavar="NAME", help="its body (default: human23)")
    add(
        "--walkers", type=int, default=64, metavar="N",
        help="bodies at once (default: 64)",
    )  # fmt: skip
    add(
        "--rounds", type=int, default=4, metavar="N",
        help="rounds of walks into the wall (default: 4)",
    )  # fmt: skip
    add(
        "--fastest", type=float, default=math.inf, metavar="SPEED",
        help="fastest command, [m/s], such as actions.max_movement_speed of the agents "
        "that it is for (default: the walker's)",
    )  # fmt: skip
    add("--seed", type=int, default=0, metavar="N", help="seed of everything random")
    add("--verbose", action="store_true", help="show tracebacks")
    return parser


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    args = make_parser().parse_args(list(sys.argv[1:] if argv is None else argv))
    for name in ("walkers", "rounds"):
        if getattr(args, name) < 1:
            raise ConfigError(f"--{name} {getattr(args, name)}: must be at least 1")
    if not args.fastest > 0.0:
        raise ConfigError(f"--fastest {args.fastest:g}: must be over 0 m/s")
    if args.seed < 0:
        raise ConfigError(f"--seed {args.seed}: must be >= 0")
    check_parent(args.out)
    twin = measured_twin(args)
    path = resolve_path(args.out)
    write_atomic(path, twin.to_json())
    announce(f"twin of {twin.walker}: {path}")
    return 0


def measured_twin(args: argparse.Namespace) -> TwinConfig:
    """Measure and fit, with a line for each part."""
    from ambulo.commands.twin.fit import fit_twin
    from ambulo.commands.twin.measure import (
        SLOWEST,
        free_walks,
        joined,
        slowed,
        wall_walks,
    )
    from ambulo.envs.vr.body.walker import find_walker

    walker = find_walker(args.walker, args.body)
    least = max(SLOWEST, walker.envelope.speed[0])
    if args.fastest < least:
        raise ConfigError(
            f"--fastest {args.fastest:g}: {walker.name} is measured from {least:g} m/s on"
        )
    announce(f"{args.walkers} walkers on free ground ...")
    free = free_walks(walker, args.walkers, args.seed, args.fastest)
    announce(f"{args.rounds} x {args.walkers} walkers at a wall ...")
    rounds = [
        wall_walks(walker, args.walkers, args.seed + k, args.fastest)
        for k in range(args.rounds)
    ]
    announce("fitting ...")
    twin = fit_twin(walker, free, joined(rounds))
    # Faster sticks are refused: nothing is known about them.
    return twin.model_copy(update={"envelope": slowed(walker.envelope, args.fastest)})
