"""`ambulo gait estimate`: the gait parameters of a clip, and how sure they are."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from ambulo.commands.data.inputs import add_reading_flags, motion_files, reading_of
from ambulo.commands.gait.networks import (
    DEFAULT_ESTIMATOR,
    DEFAULT_NETWORK,
    add_model_flag,
    assignments,
    open_gait_net,
    open_network,
)
from ambulo.commands.gait.train_estimator import METHOD
from ambulo.common.files import check_parent, write_or_print
from ambulo.common.find_model import find_model
from ambulo.common.paths import resolve_path
from ambulo.common.tables import new_table, print_table
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.configs.gait import GaitSpace
from ambulo.shipped import shipped_models

if TYPE_CHECKING:
    from ambulo.commands.gait.observing import Observation
    from ambulo.policies.agents.gait_estimator import GaitEstimator
    from ambulo.policies.networks.gait_inverse import GaitEstimate

UNUSUAL = 2.0
"""A misfit above this is told: the network knows no such motion."""


@dataclass(frozen=True, eq=False)
class ClipEstimate:
    """Gait parameters of a clip."""

    estimate: GaitEstimate
    """Over all strides."""
    strides: tuple[GaitEstimate, ...]
    """Of each stride."""


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `estimate` to the actions of `ambulo gait`."""
    parser = actions.add_parser(
        "estimate",
        help="tell the gait parameters of a clip",
        description="Estimate the gait parameters of a clip by least squares through "
        "the network, with the Laplace approximation of the doubt. The lengths of limbs are "
        "measured on the clip's skeleton and given.",
    )
    parser.add_argument("clip", metavar="FILE", help="motion file: BVH, AMC, NPZ")
    parser.add_argument(
        "--estimator", metavar="MODEL",
        help="file of `ambulo gait train-estimator` for this network (default: "
        f"{DEFAULT_ESTIMATOR}, if it is shipped)",
    )  # fmt: skip
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="named",
        help="a parameter that is known (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--blind", action="store_true",
        help="do not take lengths from the skeleton: estimate them too",
    )  # fmt: skip
    parser.add_argument(
        "--json", metavar="FILE", help="write the results as JSON (- prints them)"
    )
    add_reading_flags(parser)
    add_model_flag(parser, verbose=False)


def run(args: argparse.Namespace) -> int:
    """Estimate; 0."""
    check_parent(args.json)
    path = resolve_path(args.clip)
    if path.is_dir():
        raise ConfigError(f"{path}: estimate takes one file, not a folder")
    motion_files(path)
    motion = reading_of(args).motion(path)
    network = open_network(args)
    estimator = _estimator(args, network.space)
    given = assignments(args.named)
    network.vector(**given)  # refused before work is done
    from ambulo.commands.gait.observing import lengths_of, observe, within

    observed = observe(motion, network)
    measured: dict[str, float] = {}
    moved: list[str] = []
    if not args.blind:
        lengths = lengths_of(network.space, observed[0].measured)
        measured, moved = within(network.space, lengths)
    known = measured | network.held | given
    found = _estimate(args, observed, known, estimator)
    data = _data(path, args, observed, found)
    if args.json == "-":
        write_or_print("-", data)
        return 0
    write_or_print(args.json, data)
    _print(path, observed, found, moved)
    return 0


def _estimator(args: argparse.Namespace, space: GaitSpace) -> GaitEstimator | None:
    """What `--estimator` names; None where there is none and none is asked for."""
    name = args.estimator
    usual = args.model == DEFAULT_NETWORK  # the shipped one knows its errors alone
    if name is None and usual and DEFAULT_ESTIMATOR in shipped_models():
        name = DEFAULT_ESTIMATOR
    if name is None:
        return None
    from ambulo.policies.agents.gait_estimator import load_estimator

    try:
        return load_estimator(find_model(name), space)
    except ModelFileError:
        if args.estimator is None:
            return None  # the shipped estimator is for another network
        raise


def _estimate(
    args: argparse.Namespace,
    observed: Sequence[Observation],
    given: dict[str, float],
    estimator: GaitEstimator | None,
) -> ClipEstimate:
    from ambulo.policies.networks.gait_inverse import GaitInverse

    network, _ = open_gait_net(args)
    if estimator is None:
        inverse = GaitInverse(network, network.space)
    else:
        inverse = estimator.inverse(network)
    each = tuple(
        inverse.estimate(one.poses, given, fps=one.fps, seed=k)
        for k, one in enumerate(observed)
    )
    return ClipEstimate(joined(each), each)


def joined(each: Sequence[GaitEstimate]) -> GaitEstimate:
    """One estimate of several strides: their mean.

    Its variance is the mean of theirs and the variance between them, not divided by
    their number: what the network does not know of a person is the same in all strides.
    """
    values = np.array([one.values for one in each])
    variances = np.square([one.deviation for one in each])
    first = each[0]
    return replace(
        first,
        values=values.mean(axis=0),
        deviation=np.sqrt(variances.mean(axis=0) + values.var(axis=0)),
        identified=np.mean([one.identified for one in each], axis=0) > 0.5,
        misfit=float(np.mean([one.misfit for one in each])),
        shift=float(np.mean([one.shift for one in each])),
    )


def _data(
    path: Path,
    args: argparse.Namespace,
    observed: Sequence[Observation],
    found: ClipEstimate,
) -> str:
    """Everything as JSON."""
    out: dict[str, Any] = {
        "clip": path.name,
        "model": Path(args.model).name,
        "strides": [one.name for one in observed],
        "measured": [one.measured for one in observed],
        METHOD: {
            "parameters": found.estimate.rows(),
            "misfit": found.estimate.misfit,
            "strides": [row.values.tolist() for row in found.strides],
        },
    }
    return json.dumps(out, indent=2) + "\n"


def _print(
    path: Path,
    observed: Sequence[Observation],
    found: ClipEstimate,
    moved: Sequence[str],
) -> None:
    console = Console()
    table = new_table(f"{path.name}: {len(observed)} strides")
    table.add_column("parameter")
    for column in ("measured", "estimated", "95 %"):
        table.add_column(column, justify="right")
    estimate = found.estimate
    space = estimate.space
    for k, name in enumerate(space.names):
        measured = [one.measured[name] for one in observed if name in one.measured]
        direct = "femur_torsion" not in name and bool(measured)
        cells = [name, f"{np.mean(measured):.3f}" if direct else "-"]
        cells += _cells(estimate, k)
        table.add_row(*cells)
    print_table(console, table)
    if estimate.misfit > UNUSUAL:
        console.print(
            f"misfit {estimate.misfit:.1f} (1 for motions as in training): the "
            "network knows no such walk, so these numbers lean on what it knows",
            soft_wrap=True,
        )
    if moved:
        console.print(
            f"outside of the network's ranges, taken at their ends: {', '.join(moved)}",
            soft_wrap=True,
        )
    console.print("grey: given, or not decided by the motion", style="bright_black")


def _cells(estimate: GaitEstimate, k: int) -> tuple[str, str]:
    """The value with its deviation, and the interval."""
    value, deviation = estimate.values[k], estimate.deviation[k]
    if estimate.given[k]:
        return f"[bright_black]{value:.3f} given[/]", ""
    low, high = estimate.interval(k)
    cells = f"{value:.3f} ± {deviation:.3f}", f"{low:.3f} to {high:.3f}"
    if estimate.identified[k]:
        return cells
    return f"[bright_black]{cells[0]}[/]", f"[bright_black]{cells[1]}[/]"
