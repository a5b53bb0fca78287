"""`ambulo play`: a model that acts, in the browser."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import ambulo.shipped
from ambulo.commands.viewing.kinds import (
    STAGES,
    check_request,
    open_stage,
    playable_file,
    stage_of,
)
from ambulo.commands.viewing.request import PlayRequest
from ambulo.commands.viewing.serving import add_window_flags, check_window, serve
from ambulo.common.errors import Parser, front_door
from ambulo.configs.errors import ConfigError
from ambulo.evaluate.shared.models import model_kind
from ambulo.viz.viewer.panel import Models

MOST_BODIES = 64
EPILOG = """\
examples:
  ambulo play walk_commands                 a walker with sliders for its commands
  ambulo play imitate_walk --bodies 16      sixteen bodies side by side
  ambulo play track --clips walk.bvh        a body that tracks a clip, and the clip
  ambulo play vr_navigation --levels maze   a navigator, what it sees and remembers
  ambulo play runs/first                    the best model of a run
"""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    args = make_parser().parse_args(list(sys.argv[1:] if argv is None else argv))
    check_window(args)
    request = request_of(args)
    file = playable_file(args.model)
    check_request(file, request)
    models = Models(playable(), lambda name: open_stage(name, request))
    title = f"{args.model}: loading"
    return serve(args, title, lambda: stage_of(file, request), models)


def make_parser() -> Parser:
    """Return the command line of `ambulo play`."""
    parser = Parser(
        prog="ambulo play",
        description="Show a model that acts, in the browser.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("model", metavar="MODEL", help="shipped model, model file, or folder of a run")
    add(
        "--bodies", type=int, default=1, metavar="N",
        help="bodies side by side, of walkers and trackers (default: 1)",
    )  # fmt: skip
    add("--seed", type=int, default=0, metavar="N", help="seed of everything random")
    add(
        "--clips", nargs="+", default=[], metavar="FILE",
        help="motion files that a tracker follows (default: the one in its file)",
    )  # fmt: skip
    add(
        "--recording", metavar="FILE",
        help="recording of headset and controllers, or a motion file, for a body tracker "
        "(default: a walk)",
    )  # fmt: skip
    add(
        "--levels", metavar="NAMES",
        help="level families or sets of a navigator, with commas between (default: its "
        "own, held-out levels)",
    )  # fmt: skip
    add("--level-file", metavar="PATH", help="level JSON file or folder of them")
    add_window_flags(parser)
    return parser


def request_of(args: argparse.Namespace) -> PlayRequest:
    """Return what the flags ask for; `ConfigError` for values out of range."""
    if not 1 <= args.bodies <= MOST_BODIES:
        raise ConfigError(f"--bodies {args.bodies}: must be 1 to {MOST_BODIES}")
    if args.seed < 0:
        raise ConfigError(f"--seed {args.seed}: must be >= 0")
    if args.levels is not None and args.level_file is not None:
        raise ConfigError("--levels and --level-file exclude each other")
    levels = () if args.levels is None else tuple(args.levels.split(","))
    return PlayRequest(
        args.bodies,
        args.seed,
        tuple(args.clips),
        args.recording,
        levels,
        args.level_file,
    )


def playable() -> list[str]:
    """Return the names of the shipped models that can be shown."""
    found = ambulo.shipped.shipped_models()
    return [name for name, file in sorted(found.items()) if model_kind(file) in STAGES]


if __name__ == "__main__":
    sys.exit(main())
