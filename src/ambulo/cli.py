"""The `ambulo` command: a table of sub-commands, each loaded only when it is called."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

import ambulo
from ambulo.common.errors import INTERRUPTED, Parser

COMMANDS: dict[str, tuple[str, str]] = {
    "train": ("ambulo.train.train_vr_navigation:main", "train or resume an agent"),
    "eval": ("ambulo.evaluate.command:main", "score an agent beside baselines"),
    "export": ("ambulo.commands.export_agent:main", "write an agent as ONNX or JSON"),
    "levels": ("ambulo.commands.level_tools:main", "generate, validate or draw levels"),
    "train-motion": ("ambulo.train.train_motion:main", "train a model of motion"),
    "eval-motion": ("ambulo.train.eval_motion:main", "score one beside baselines"),
    "train-locomotion": (
        "ambulo.train.train_locomotion:main",
        "train or resume a body's policy",
    ),
    "data": (
        "ambulo.commands.motion_data:main",
        "convert, check or draw motion capture",
    ),
    "gait": ("ambulo.commands.gait_tools:main", "generate, estimate or report gaits"),
    "ik": ("ambulo.commands.ik_tools:main", "make training data of poses"),
    "train-ik": ("ambulo.train.train_neural_ik:main", "train a network of poses"),
    "train-gaitnet": (
        "ambulo.train.train_forward_gaitnet:main",
        "train a network from gait parameters to motion",
    ),
    "rig-server": (
        "ambulo.commands.rig_server:main",
        "learn characters from streams of poses",
    ),
    "rig-client": ("ambulo.commands.rig_client:main", "replay a clip to a rig server"),
    "schema": (
        "ambulo.commands.describe:schema",
        "print observation and action layout",
    ),
    "presets": ("ambulo.commands.describe:presets", "list the presets, or print one"),
}
"""Each sub-command's `module:function` and what it does."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a sub-command; its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    if not arguments or arguments[0].startswith("-"):
        parser.parse_args(arguments)
        parser.print_help(sys.stderr)
        return 2
    name = arguments[0]
    if name not in COMMANDS:
        from ambulo.configs.errors import nearest

        parser.error(f"unknown command {name!r}{nearest(name, COMMANDS)}")
    module, _, function = COMMANDS[name][0].partition(":")
    try:
        command: Callable[[Sequence[str]], int] = getattr(
            import_module(module), function
        )
    except KeyboardInterrupt:  # later ones are the command's own
        print("ambulo: interrupted", file=sys.stderr)
        return INTERRUPTED
    return command(arguments[1:])


def _parser() -> Parser:
    """For help and version only; sub-commands parse their own arguments."""
    rows = "\n".join(f"  {name:<16} {what}" for name, (_, what) in COMMANDS.items())
    parser = Parser(
        prog="ambulo",
        usage="ambulo COMMAND [ARGUMENT ...]",
        description="Reinforcement learning of VR navigation and locomotion.",
        epilog=f"commands:\n{rows}\n\n`ambulo COMMAND --help` tells more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action="version", version=f"ambulo {ambulo.__version__}"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
