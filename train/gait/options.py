"""The flags of the training of gait networks, and the configuration they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ambulo.common.errors import Parser
from ambulo.common.paths import resolve_path
from ambulo.configs.base import load_json, parse
from ambulo.configs.presets.gait import PRESETS, preset
from ambulo.configs.ref_nn import RefRunConfig
from ambulo.train.shared.training_flags import with_overrides, with_value

RESUMABLE = ("patience", "save_every", "device", "output", "threads")
"""Training settings that may change when a run is resumed."""

_SHORTCUTS = {
    "epochs": "training.epochs",
    "batch_size": "training.batch_size",
    "learning_rate": "training.learning_rate",
    "seed": "training.seed",
    "device": "training.device",
    "threads": "training.threads",
    "output": "training.output",
    "loss": "loss.kind",
    "split": "dataset.split",
    "buffer_rows": "dataset.buffer_rows",
    "test_subjects": "dataset.test_subjects",
    "validation_subjects": "dataset.validation_subjects",
}
"""Flags that set keys of the configuration."""

EPILOG = """\
examples:
  ambulo gait extract-cycles --motions cmu --out cycles
  train_forward_gaitnet --fresh --data cycles --preset fast --split subject
  train_forward_gaitnet --fresh --data refined --loss as_documented
  train_forward_gaitnet --resume runs/ref_nn_0_20260101-120000
"""


def make_parser() -> Parser:
    """The command line of `train_forward_gaitnet`."""
    parser = Parser(
        prog="train_forward_gaitnet",
        description="Train a network from gait and body parameters to motion.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    what = parser.add_argument_group("what to do")
    what.add_argument(
        "--data", nargs="+", metavar="DIR",
        help="refined sequences, from `augment_gait` or `ambulo gait extract-cycles`",
    )  # fmt: skip
    what.add_argument(
        "--fresh", action="store_true",
        help="begin anew; without it the newest unfinished run on the same data and "
        "settings in the output folder is continued, if there is one",
    )  # fmt: skip
    what.add_argument("--resume", metavar="PATH", help="continue a run or a checkpoint")
    what.add_argument("--preset", metavar="NAME", help=f"one of {', '.join(PRESETS)}")
    what.add_argument("--config", metavar="FILE", help="JSON settings, over the preset")
    what.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides",
        help="one setting, such as network.harmonics=4 (repeatable)",
    )  # fmt: skip
    what.add_argument(
        "--print-config", action="store_true", help="print the settings; no training"
    )
    how = parser.add_argument_group("training")
    how.add_argument("--epochs", type=int, metavar="N", help="streams of all data")
    how.add_argument("--batch-size", type=int, metavar="N", help="frames of a step")
    how.add_argument(
        "--learning-rate", type=float, metavar="X", help="Adam's step size"
    )
    how.add_argument(
        "--loss", metavar="KIND", help="as_coded (default), as_documented or balanced"
    )
    how.add_argument("--split", metavar="BY", help="parameters (default) or subject")
    how.add_argument(
        "--test-subjects", nargs="+", metavar="SUBJECT", help="people to test on"
    )
    how.add_argument(
        "--validation-subjects", nargs="+", metavar="SUBJECT",
        help="people to validate with",
    )  # fmt: skip
    how.add_argument(
        "--buffer-rows", type=int, metavar="N", help="frames held at once, twice"
    )
    how.add_argument(
        "--strict", action="store_true", help="a file that cannot be used is an error"
    )
    how.add_argument("--seed", type=int, metavar="N", help="seed of everything random")
    how.add_argument("--threads", type=int, metavar="N", help="threads of torch")
    how.add_argument(
        "--device", metavar="NAME", help="torch device (default: auto, a GPU if any)"
    )
    where = parser.add_argument_group("results")
    where.add_argument(
        "--output", metavar="FOLDER", help="folder of runs (default: runs)"
    )
    where.add_argument("--run-name", metavar="NAME", help="name of the run folder")
    where.add_argument(
        "--force", action="store_true", help="replace a run of that name"
    )
    where.add_argument(
        "--progress", action=argparse.BooleanOptionalAction, default=None,
        help="progress bar (default: on)",
    )  # fmt: skip
    where.add_argument(
        "--verbose", action="store_true", help="more messages, and tracebacks"
    )
    return parser


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The flags; argparse leaves with exit code 2 when they are wrong."""
    parser = make_parser()
    args = parser.parse_args(argv)
    if args.resume and (args.config or args.data or args.fresh or args.preset):
        parser.error(
            "--resume continues with the run's own settings and data: "
            "no --fresh, --config, --data or --preset"
        )
    if not (args.resume or args.data or args.config or args.print_config):
        parser.error("--data DIR: name folders of refined sequences")
    return args


def base_config(args: argparse.Namespace) -> RefRunConfig:
    """The preset with the settings of `--config` over it, and the data."""
    config = preset(args.preset) if args.preset else RefRunConfig()
    if args.config:
        path = resolve_path(args.config)
        given = load_json(RefRunConfig, path).model_dump(exclude_unset=True)
        data: dict[str, Any] = config.model_dump()
        for group, values in given.items():
            if isinstance(values, dict):
                data[group].update(values)
            else:
                data[group] = values
        config = parse(RefRunConfig, data, str(path))
    if args.data:
        places = [str(resolve_path(place)) for place in args.data]
        config = config.replace(data=places)
    return config


def with_flags(config: RefRunConfig, args: argparse.Namespace) -> RefRunConfig:
    """`config` with every `--set` and every flag that was given."""
    config = with_overrides(config, args.overrides)
    if args.strict:
        config = with_value(config, "dataset.strict", True, "--strict")
    for name, key in _SHORTCUTS.items():
        value = getattr(args, name)
        if value is not None:
            config = with_value(config, key, value, f"--{name.replace('_', '-')}")
    return config
