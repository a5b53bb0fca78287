"""`ambulo gait estimate`: the gait parameters of a clip, and how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.text import Text

from ambulo.commands.data.inputs import motion_files
from ambulo.commands.gait.flags import (
    DEFAULT_ESTIMATOR,
    DEFAULT_NETWORK,
    EstimateFlags,
)
from ambulo.commands.gait.train_estimator import METHOD
from ambulo.common.files import json_text, write_or_print
from ambulo.common.find_model import find_model
from ambulo.common.flag_types import numbers_of
from ambulo.common.paths import resolve_path
from ambulo.common.tables import print_rows
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.configs.gait import GaitSpace
from ambulo.shipped import shipped_models

if TYPE_CHECKING:
    from ambulo.commands.gait.observing import Observation
    from ambulo.policies.agents.gait_estimator import GaitEstimator
    from ambulo.policies.networks.gait_inverse import GaitEstimate

UNUSUAL = 2.0
"""Misfit above which a note is printed: the network knows no such motion."""


def estimate(flags: EstimateFlags) -> int:
    """Estimate the gait parameters of a clip."""
    path = resolve_path(flags.clip)
    if path.is_dir():
        raise ConfigError(f"{path}: estimate takes one file, not a folder")
    motion_files(path)
    motion = flags.read(path).logged()
    network = flags.network()
    estimator = _estimator(flags, network.space)
    given = numbers_of(flags.named)
    network.vector(**given)  # refused before work is done
    from ambulo.commands.gait.observing import lengths_of, observe, within

    observed = observe(motion, network)
    measured: dict[str, float] = {}
    moved: list[str] = []
    if not flags.blind:
        lengths = lengths_of(network.space, observed[0].measured)
        measured, moved = within(network.space, lengths)
    known = measured | network.held | given
    strides = _estimates(flags, observed, known, estimator)
    whole = joined(strides)
    write_or_print(flags.json, _data(path, flags, observed, whole, strides))
    if flags.json != "-":
        _print(path, observed, whole, moved)
    return 0


def _estimator(flags: EstimateFlags, space: GaitSpace) -> GaitEstimator | None:
    """Return the estimator of `--estimator`, or the shipped one if it fits; else None."""
    name = flags.estimator
    usual = flags.model == DEFAULT_NETWORK  # the shipped one knows its errors alone
    if name is None and usual and DEFAULT_ESTIMATOR in shipped_models():
        name = DEFAULT_ESTIMATOR
    if name is None:
        return None
    from ambulo.policies.agents.gait_estimator import load_estimator

    try:
        return load_estimator(find_model(name), space)
    except ModelFileError:
        if flags.estimator is None:
            return None  # the shipped estimator is for another network
        raise


def _estimates(
    flags: EstimateFlags,
    observed: Sequence[Observation],
    given: dict[str, float],
    estimator: GaitEstimator | None,
) -> list[GaitEstimate]:
    """Return the estimate of each stride."""
    from ambulo.policies.networks.gait_inverse import GaitInverse

    network = flags.gait_net()
    if estimator is None:
        inverse = GaitInverse(network, network.space)
    else:
        inverse = estimator.inverse(network)
    return [
        inverse.estimate(one.poses, given, fps=one.fps, seed=k)
        for k, one in enumerate(observed)
    ]


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
    flags: EstimateFlags,
    observed: Sequence[Observation],
    whole: GaitEstimate,
    strides: Sequence[GaitEstimate],
) -> str:
    """Everything as JSON."""
    out: dict[str, Any] = {
        "clip": path.name,
        "model": Path(flags.model).name,
        "strides": [one.name for one in observed],
        "measured": [one.measured for one in observed],
        METHOD: {
            "parameters": whole.rows(),
            "misfit": whole.misfit,
            "strides": [row.values.tolist() for row in strides],
        },
    }
    return json_text(out, indent=2)


def _print(
    path: Path,
    observed: Sequence[Observation],
    estimate: GaitEstimate,
    moved: Sequence[str],
) -> None:
    console = Console()
    rows: list[list[str | Text]] = []
    for k, name in enumerate(estimate.space.names):
        measured = [one.measured[name] for one in observed if name in one.measured]
        direct = "femur_torsion" not in name and bool(measured)
        shown = f"{np.mean(measured):.3f}" if direct else "-"
        rows.append([name, shown, *_cells(estimate, k)])
    heads = ("parameter", "measured", "estimated", "95 %")
    print_rows(f"{path.name}: {len(observed)} strides", heads, rows, console=console)
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


def _cells(estimate: GaitEstimate, k: int) -> list[Text]:
    """Return the value with its deviation, and the interval."""
    value, (low, high) = f"{estimate.values[k]:.3f}", estimate.interval(k)
    cells = [f"{value} ± {estimate.deviation[k]:.3f}", f"{low:.3f} to {high:.3f}"]
    if estimate.given[k]:
        cells = [f"{value} given", ""]
    known = estimate.identified[k] and not estimate.given[k]
    return [Text(cell, "" if known else "bright_black") for cell in cells]
