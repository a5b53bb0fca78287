"""`ambulo gait train-estimator`: what `ambulo gait estimate` needs beside the network."""

from __future__ import annotations

import argparse
import json
import shlex
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from ambulo.commands.gait.networks import add_model_flag, open_gait_net, open_network
from ambulo.common.files import check_parent, without_nan, write_or_print
from ambulo.common.paths import resolve_path
from ambulo.common.tables import new_table, print_table
from ambulo.configs.errors import ConfigError, GaitDataError
from ambulo.train.shared.command_text import shareable_arguments

if TYPE_CHECKING:
    from ambulo.configs.gait import GaitSpace
    from ambulo.evaluate.gait.recovery import Recovery

TESTED, MOST = 200, 1024
"""Held-out gaits whose parameters are estimated at the end, and most to calibrate with."""
METHOD = "optimisation"
"""Name of least squares in results."""


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `train-estimator` to the actions of `ambulo gait`."""
    parser = actions.add_parser(
        "train-estimator",
        help="prepare the way back from motions to parameters",
        description="Measure how motions differ from what a gait network says of them, and "
        "test estimates on gaits that it has not seen.",
    )
    parser.add_argument(
        "--data", action="append", required=True, metavar="DIR",
        help="refined sequences that the network was trained on (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="the .zip to write"
    )
    parser.add_argument(
        "--given", nargs="*", default=["lengths"], metavar="NAME",
        help="what will be given: parameters; `lengths`: all of the skeleton (default); "
        "`known`: all that is not a muscle's, as published",
    )  # fmt: skip
    parser.add_argument(
        "--test", type=int, default=TESTED, metavar="N",
        help=f"held-out gaits that are estimated at the end (default: {TESTED})",
    )  # fmt: skip
    parser.add_argument(
        "--json", metavar="FILE", help="write the test's results as JSON"
    )
    add_model_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Calibrate, test, write; 0."""
    for file in (args.out, args.json):
        check_parent(file)
    out = resolve_path(args.out)
    if out.suffix != ".zip":
        raise ConfigError(f"--out {args.out}: an estimator is a .zip")
    from ambulo.evaluate.gait.held_out import data_of
    from ambulo.evaluate.gait.recovery import recover
    from ambulo.motion.gaits.gait_sets import load_part
    from ambulo.policies.agents.gait_estimator import save_estimator
    from ambulo.train.gait.calibration import calibrated_inverse

    data = data_of(open_network(args).metadata, args.data)
    network, _ = open_gait_net(args)
    given = given_names(args.given, data.space)
    checked = load_part(data, "validation", MOST)
    if len(checked) < 2:
        raise GaitDataError(
            "fewer than two gaits to calibrate with in the validation part"
        )
    inverse = calibrated_inverse(network, data.space, checked, given)
    tested = load_part(data, "test", args.test)
    found = recover(inverse, tested, given) if len(tested) else None
    results = {} if found is None else {METHOD: found.as_dict()}
    arguments = ["train-estimator", *shareable_arguments(_argv(args))]
    extra = {"sequences": {"validation": len(checked)}, "test": results}
    save_estimator(
        out, inverse, given,
        command=shlex.join(["ambulo", "gait", *arguments]), extra=without_nan(extra),
    )  # fmt: skip
    write_or_print(args.json, json.dumps(without_nan(results), indent=2) + "\n")
    if found is not None:
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


def print_recovery(found: Recovery) -> None:
    """A table of how well parameters are found again."""
    table = new_table(
        f"parameters found again on {found.gaits} held-out gaits: mean error over "
        "the range"
    )
    table.add_column("parameter")
    for column in ("error", "identified", "inside 95 %"):
        table.add_column(column, justify="right")
    for k, parameter in enumerate(found.names):
        cells = ["given", "", ""]
        if not found.given[k]:
            rates = (found.identified[k], found.inside[k])
            cells = [f"{found.error[k]:.1%}", *(f"{rate:.0%}" for rate in rates)]
        table.add_row(parameter, *cells)
    print_table(Console(), table)


def _argv(args: argparse.Namespace) -> list[str]:
    """The arguments that decide the result."""
    given = np.concatenate([[], args.given]).tolist()
    data = [part for place in args.data for part in ("--data", place)]
    return [*data, "--model", args.model, "--given", *given]
