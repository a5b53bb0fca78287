"""The `ambulo` command: a table of sub-commands, each loaded only when it is called."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import ambulo
import ambulo.configs
from ambulo.common.errors import INTERRUPTED, USER_ERROR, Parser
from ambulo.common.extras import missing_package

_TRAININGS: dict[str, dict[str, Any]] = {}
for _file in sorted(Path(ambulo.configs.__path__[0], "trainings").glob("*.json")):
    _TRAININGS |= json.loads(_file.read_text("utf-8"))["commands"]
TRAININGS: dict[str, tuple[str, str]] = {
    word: (f"{row['module']}:main", row["summary"]) for word, row in _TRAININGS.items()
}
"""What `ambulo train` trains: `module:function` and description of each kind."""

COMMANDS: dict[str, tuple[str, str]] = {
    "train": ("ambulo.cli:train", f"train or resume: {', '.join(TRAININGS)}"),
    "sweep": (
        "ambulo.commands.sweep:main",
        "train many seeds and settings, and write one report",
    ),
    "compare": (
        "ambulo.commands.compare:main",
        "say whether a difference between runs is real",
    ),
    "tune": ("ambulo.commands.tune:main", "search for good settings of a training"),
    "eval": ("ambulo.evaluate.command:main", "score an agent beside baselines"),
    "rollouts": (
        "ambulo.commands.rollouts:main",
        "record episodes of an agent as a data set of Minari",
    ),
    "play": ("ambulo.commands.play:main", "show a model that acts, in the browser"),
    "watch": (
        "ambulo.commands.watch:main",
        "show a training run in the browser, running or finished",
    ),
    "playtest": (
        "ambulo.commands.playtest:main",
        "let agents walk through levels, and report what is wrong with these",
    ),
    "export": (
        "ambulo.commands.export_agent:main",
        "write a model as ONNX, or a body as MJCF",
    ),
    "models": ("ambulo.commands.models:main", "list the models that can be loaded"),
    "push": ("ambulo.commands.hub.push:main", "share a model on the Hugging Face hub"),
    "pull": ("ambulo.commands.hub.pull:main", "take a model from the Hugging Face hub"),
    "page": (
        "ambulo.commands.page:main",
        "build a static web page in which agents act",
    ),
    "levels": (
        "ambulo.commands.level_tools:main",
        "level files: generate, import, validate, draw or schema",
    ),
    "eval-motion": ("ambulo.train.eval_motion:main", "score a motion network"),
    "data": (
        "ambulo.commands.motion_data:main",
        "motion capture: convert, info, validate, plot or fetch",
    ),
    "body": (
        "ambulo.commands.body_tools:main",
        "bodies of one's own: make or check",
    ),
    "fit": (
        "ambulo.commands.fit_clip:main",
        "make a clip feasible for a simulated body",
    ),
    "fit-twin": (
        "ambulo.commands.fit_twin:main",
        "fit the fast model of a walker that navigation trains on",
    ),
    "gait": (
        "ambulo.commands.gait_tools:main",
        "gaits: generate, reference, estimate, report, extract-cycles, train-estimator or "
        "compose",
    ),
    "ik": (
        "ambulo.commands.ik_tools:main",
        "make training data of poses and of sequences",
    ),
    "track": (
        "ambulo.commands.track:main",
        "a whole body from a recording of headset and controllers",
    ),
    "track-server": (
        "ambulo.commands.track_server:main",
        "answer live streams of headset and controllers with bodies",
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
    "new": ("ambulo.commands.new:main", "write a task of your own to begin with"),
    "doctor": (
        "ambulo.commands.doctor:main",
        "versions, engines and caches of this machine, and what is missing for what",
    ),
    "completion": (
        "ambulo.cli:completion",
        "print the completion script of a shell",
    ),
}
"""`module:function` and description of each sub-command."""

ALIASES: dict[str, str] = {
    former: word for word, row in _TRAININGS.items() for former in row.get("former", ())
}
"""Earlier spellings of `ambulo train KIND`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a sub-command; return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser("ambulo", "COMMAND", COMMANDS)
    parser.add_argument(
        "--version", action="version", version=f"ambulo {ambulo.__version__}"
    )
    if not arguments or arguments[0].startswith("-"):
        parser.parse_args(arguments)
        parser.print_help(sys.stderr)
        return USER_ERROR
    name = arguments[0]
    if name in ALIASES:
        return _run(TRAININGS[ALIASES[name]][0], arguments[1:])
    return _run(_target(parser, name, COMMANDS), arguments[1:])


def train(argv: Sequence[str]) -> int:
    """Run `ambulo train KIND`; without a kind, flags are those of `vr`."""
    parser = _parser("ambulo train", "KIND", TRAININGS)
    if not argv or argv[0] in ("-h", "--help"):
        parser.print_help(sys.stdout if argv else sys.stderr)
        return 0 if argv else USER_ERROR
    if argv[0].startswith("-"):
        return _run(TRAININGS["vr"][0], argv)
    return _run(_target(parser, argv[0], TRAININGS), argv[1:])


def completion(argv: Sequence[str]) -> int:
    """Print the completion of all commands for a shell."""
    from ambulo.commands.completion import main as command

    return command(argv, COMMANDS, TRAININGS)


def _target(parser: Parser, name: str, table: Mapping[str, tuple[str, str]]) -> str:
    """Return the `module:function` of `name`, or leave with exit code 2."""
    if name not in table:
        from ambulo.configs.errors import nearest

        for group, (_, what) in table.items():
            if name in re.split(r"[ ,]+", what.partition(": ")[2]):
                parser.error(f"unknown command {name!r}: write ambulo {group} {name}")
        if table is TRAININGS:
            from ambulo.configs.task_registry import task_names

            if name in task_names() or name.endswith(".py"):
                parser.error(f"{name} is a task: write ambulo train walk --task {name}")
        kind = "command" if table is COMMANDS else "kind of training"
        parser.error(f"unknown {kind} {name!r}{nearest(name, table)}")
    return table[name][0]


def _run(target: str, arguments: Sequence[str]) -> int:
    """Load and run the command `module:function`; return its exit code."""
    module, _, function = target.partition(":")
    try:
        command: Callable[[Sequence[str]], int] = getattr(
            import_module(module), function
        )
    except KeyboardInterrupt:  # later ones are the command's own
        print("ambulo: interrupted", file=sys.stderr)
        return INTERRUPTED
    except ImportError as error:
        missing = missing_package(error)
        if missing is None:
            raise
        print(f"ambulo: error: {missing}", file=sys.stderr)
        return USER_ERROR
    return command(arguments)


def _parser(program: str, word: str, table: Mapping[str, tuple[str, str]]) -> Parser:
    """Return a parser for help alone; sub-commands parse their own arguments."""
    rows = "\n".join(f"  {name:<16} {what}" for name, (_, what) in table.items())
    heading = "commands" if table is COMMANDS else "kinds"
    return Parser(
        prog=program,
        usage=f"{program} {word} [ARGUMENT ...]",
        description="Reinforcement learning of VR navigation and locomotion."
        if table is COMMANDS
        else "Train or resume a policy or a network.",
        epilog=f"{heading}:\n{rows}\n\n`{program} {word} --help` lists its flags.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


if __name__ == "__main__":
    sys.exit(main())
