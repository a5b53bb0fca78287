"""`ambulo gait train-estimator`: what `ambulo gait estimate` needs beside the network."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from ambulo.commands.gait.networks import add_model_flag, open_network, open_ref_nn
from ambulo.common.console import bars
from ambulo.common.files import check_parent
from ambulo.common.paths import resolve_path
from ambulo.common.tables import new_table, print_table
from ambulo.configs.errors import ConfigError, GaitDataError
from ambulo.train.shared.command_text import shareable_arguments

if TYPE_CHECKING:
    from ambulo.configs.gait import GaitSpace
    from ambulo.evaluate.gait.recovery import Recovery
    from ambulo.train.gait.vae_training import VAETrainingConfig

TESTED = 200
"""Held-out gaits whose parameters are estimated at the end."""


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `train-estimator` to the actions of `ambulo gait`."""
    parser = actions.add_parser(
        "train-estimator",
        help="prepare the way back from motions to parameters",
        description="Train the variational network of a gait network, measure how "
        "motions differ from what the gait network says of them, and test both on gaits "
        "that neither has seen.",
    )
    parser.add_argument(
        "--data", action="append", required=True, metavar="DIR",
        help="refined sequences that the network was trained on (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="the .zip to write"
    )
    parser.add_argument(
        "--recipe", choices=("own", "published"), default="own",
        help="how the variational network learns (default: own)",
    )  # fmt: skip
    parser.add_argument(
        "--given", nargs="*", default=["lengths"], metavar="NAME",
        help="what will be given: parameters; `lengths`: all of the skeleton (default); "
        "`known`: all that is not a muscle's, as published",
    )  # fmt: skip
    parser.add_argument("--epochs", type=int, metavar="N", help="passes over the data")
    parser.add_argument(
        "--most", type=int, default=8192, metavar="N",
        help="sequences in memory, 24 KB each (default: 8192)",
    )  # fmt: skip
    parser.add_argument(
        "--test", type=int, default=TESTED, metavar="N",
        help=f"held-out gaits that are estimated at the end (default: {TESTED})",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="(default: 0)")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of torch")
    parser.add_argument(
        "--json", metavar="FILE", help="write the test's results as JSON"
    )
    add_model_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Train, calibrate, test, write; 0."""
    for file in (args.out, args.json):
        check_parent(file)
    out = resolve_path(args.out)
    if out.suffix != ".zip":
        raise ConfigError(f"--out {args.out}: an estimator is a .zip")
    import torch

    if args.threads is not None and args.threads < 1:
        raise ConfigError(f"--threads {args.threads}: must be at least 1")
    if args.threads:
        torch.set_num_threads(args.threads)
    from ambulo.common.files import without_nan, write_or_print
    from ambulo.configs.gait_vae import GaitVAEConfig
    from ambulo.evaluate.gait.data import load_part
    from ambulo.evaluate.gait.held_out import data_of
    from ambulo.evaluate.gait.recovery import recover
    from ambulo.policies.agents.gait_estimator import save_estimator
    from ambulo.train.gait.vae_training import calibrated_inverse, train_vae, vae_errors

    data = data_of(open_network(args).metadata, args.data)
    network, _ = open_ref_nn(args)
    space, given = data.space, given_names(args.given, data.space)
    config = _config(args)
    learned = load_part(data, "train", args.most)
    checked = load_part(data, "validation", 1024)
    if len(checked) < 2:
        raise GaitDataError(
            "fewer than two gaits to calibrate with in the validation part"
        )
    with bars(12) as shown:
        task = shown.add_task("variational network", total=config.epochs)
        vae = train_vae(
            network, space, learned, config, GaitVAEConfig(given=given),
            lambda epoch, _: shown.update(task, completed=epoch),
        )  # fmt: skip
        task = shown.add_task("differences", total=1)
        inverse = calibrated_inverse(network, space, checked, given)
        shown.advance(task)
    tested = load_part(data, "test", args.test)
    found: dict[str, Recovery] = {}
    if len(tested):
        found = recover(vae, vae_errors(vae, checked), inverse, tested, given)
    results = {name: row.as_dict() for name, row in found.items()}
    extra: dict[str, Any] = {
        "recipe": args.recipe,
        "training": config.model_dump(mode="json"),
        "sequences": {"train": len(learned), "validation": len(checked)},
        "test": results,
    }
    arguments = ["train-estimator", *shareable_arguments(_argv(args))]
    save_estimator(
        out, vae, vae_errors(vae, checked), inverse.noise, inverse.trust,
        command=shlex.join(["ambulo", "gait", *arguments]), extra=without_nan(extra),
    )  # fmt: skip
    import json

    write_or_print(args.json, json.dumps(without_nan(results), indent=2) + "\n")
    if found:
        print_recovery(found)
    print(f"written: {out}")
    return 0


def given_names(chosen: list[str], space: GaitSpace) -> tuple[str, ...]:
    """The parameters that `--given` means, in the space's order."""
    kinds = {"lengths": ("skeleton",), "known": ("gait", "skeleton", "torsion")}
    names = set()
    for name in chosen:
        if name in kinds:
            names |= {p.name for p in space.parameters if p.group in kinds[name]}
        else:
            names.add(space.names[space.index(name)])
    return tuple(name for name in space.names if name in names)


def print_recovery(found: dict[str, Recovery]) -> None:
    """A table of how well parameters are found again."""
    first = next(iter(found.values()))
    table = new_table(
        f"parameters found again on {first.gaits} held-out gaits: mean error over "
        "the range"
    )
    table.add_column("parameter")
    for name in found:
        table.add_column(name, justify="right")
        table.add_column("identified", justify="right")
        table.add_column("inside 95 %", justify="right")
    for k, parameter in enumerate(first.names):
        cells = [parameter]
        for row in found.values():
            cells += [
                "given" if row.given[k] else f"{row.error[k]:.1%}",
                "" if row.given[k] else f"{row.identified[k]:.0%}",
                "" if row.given[k] else f"{row.inside[k]:.0%}",
            ]
        table.add_row(*cells)
    print_table(Console(), table)


def _config(args: argparse.Namespace) -> VAETrainingConfig:
    from ambulo.train.gait.vae_training import RECIPES

    config = RECIPES[args.recipe].replace(seed=args.seed)
    return config if args.epochs is None else config.replace(epochs=args.epochs)


def _argv(args: argparse.Namespace) -> list[str]:
    """The arguments that decide the result."""
    given = np.concatenate([[], args.given]).tolist()
    data = [part for place in args.data for part in ("--data", place)]
    return [*data, "--model", args.model, "--recipe", args.recipe, "--given", *given]
