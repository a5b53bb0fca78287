"""The flags of the training of poses, and the configuration that they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ambulo.common.errors import Parser
from ambulo.common.paths import resolve_path
from ambulo.configs.base import load_json
from ambulo.configs.neural_ik import IKRunConfig
from ambulo.train.shared.training_flags import with_overrides, with_value

RESUMABLE = (
    "epochs",
    "vary_until",
    "patience",
    "save_every",
    "device",
    "output",
    "threads",
)
"""Training settings that may change when a run is resumed."""

KINDS = {"own": "own", "published": "published", "compact": "published_compact"}
"""What `--network` calls the kinds."""

_SHORTCUTS = {
    "epochs": "training.epochs",
    "batch_size": "training.batch_size",
    "seed": "training.seed",
    "device": "training.device",
    "threads": "training.threads",
    "output": "training.output",
    "test_subjects": "dataset.test_subjects",
    "validation_subjects": "dataset.validation_subjects",
}
"""Flags that set keys of the configuration."""

EPILOG = """\
examples:
  ambulo ik extract --motions cmu --out training_data.npz
  train_neural_ik --fresh --data training_data.npz
  train_neural_ik --fresh --data training_data.npz --network published --epochs 50
  train_neural_ik --resume runs/own_0_20260101-120000
"""


def make_parser() -> Parser:
    """The command line of `train_neural_ik`."""
    parser = Parser(
        prog="train_neural_ik",
        description="Train a network that answers targets with poses.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    what = parser.add_argument_group("what to do")
    what.add_argument("--data", metavar="FILE", help="poses, from `ambulo ik extract`")
    what.add_argument(
        "--fresh", action="store_true",
        help="begin anew; without it the newest unfinished run on the same data and "
        "settings in the output folder is continued, if there is one",
    )  # fmt: skip
    what.add_argument("--resume", metavar="PATH", help="continue a run or a checkpoint")
    what.add_argument(
        "--init", metavar="PATH", dest="init",
        help="begin with the weights of a run or a checkpoint of the same network",
    )  # fmt: skip
    what.add_argument("--network", choices=KINDS, help="kind of network (default: own)")
    what.add_argument("--config", metavar="FILE", help="JSON settings")
    what.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides",
        help="one setting, such as loss.limits=0 (repeatable)",
    )  # fmt: skip
    what.add_argument(
        "--print-config", action="store_true", help="print the settings; no training"
    )
    how = parser.add_argument_group("training")
    how.add_argument("--epochs", type=int, metavar="N", help="passes over the data")
    how.add_argument("--batch-size", type=int, metavar="N", help="poses of a step")
    how.add_argument("--seed", type=int, metavar="N", help="seed of everything random")
    how.add_argument("--threads", type=int, metavar="N", help="threads of torch")
    how.add_argument(
        "--device", metavar="NAME", help="torch device (default: auto, a GPU if any)"
    )
    how.add_argument(
        "--test-subjects", nargs="+", metavar="SUBJECT", help="people to test on"
    )
    how.add_argument(
        "--validation-subjects", nargs="+", metavar="SUBJECT",
        help="people to validate with",
    )  # fmt: skip
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
    own = (args.config, args.data, args.network, args.fresh, args.init)
    if args.resume and any(own):
        parser.error(
            "--resume continues with the run's own settings and data: "
            "no --fresh, --config, --data, --network or --init"
        )
    if not (args.resume or args.data or args.config or args.print_config):
        parser.error("--data FILE: name a file of poses (made by `ambulo ik extract`)")
    return args


def base_config(args: argparse.Namespace) -> IKRunConfig:
    """The settings of `--config`, or the defaults, with the data."""
    config = IKRunConfig()
    if args.config:
        config = load_json(IKRunConfig, resolve_path(args.config))
    if args.data:
        config = config.replace(data=str(resolve_path(args.data)))
    return config


def with_flags(config: IKRunConfig, args: argparse.Namespace) -> IKRunConfig:
    """`config` with every `--set` and every flag that was given."""
    config = with_overrides(config, args.overrides)
    if args.network:
        config = with_value(config, "network.kind", KINDS[args.network], "--network")
    for name, key in _SHORTCUTS.items():
        value = getattr(args, name)
        if value is not None:
            config = with_value(config, key, value, f"--{name.replace('_', '-')}")
    return config
