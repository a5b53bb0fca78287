"""`ambulo play`: a model that acts, in the browser."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import ambulo.shipped
from ambulo.commands.viewing.kinds import STAGES, open_stage
from ambulo.commands.viewing.request import PlayRequest
from ambulo.commands.viewing.serving import add_window_flags, check_window, serve
from ambulo.common.errors import Parser, front_door
from ambulo.configs.errors import ConfigError
from ambulo.evaluate.shared.models import model_kind
from ambulo.viz.viewer.viewer import Models

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
    stage = open_stage(args.model, request)
    models = Models(playable(), lambda name: open_stage(name, request))
    return serve(args, stage, models)


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
    add_window_flags(parser)
    return parser


def request_of(args: argparse.Namespace) -> PlayRequest:
    """Return what the flags ask for; `ConfigError` for values out of range."""
    if not 1 <= args.bodies <= MOST_BODIES:
        raise ConfigError(f"--bodies {args.bodies}: must be 1 to {MOST_BODIES}")
    if args.seed < 0:
        raise ConfigError(f"--seed {args.seed}: must be >= 0")
    return PlayRequest(bodies=args.bodies, seed=args.seed, clips=tuple(args.clips))


def playable() -> list[str]:
    """Return the names of the shipped models that can be shown."""
    found = ambulo.shipped.shipped_models()
    return [name for name, file in sorted(found.items()) if model_kind(file) in STAGES]


if __name__ == "__main__":
    sys.exit(main())
