"""Scores of motion predictors as tables for the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ambulo.common.tables import widen
from ambulo.evaluate.motion.evaluation import MODEL, Evaluation
from ambulo.evaluate.motion.scores import TRUTH, MethodScores, skate_of
from ambulo.evaluate.motion.windows import Windows

Scores = Mapping[str, MethodScores]

FORMAT = "ambulo-motion-evaluation"
VERSION = 1
NO_ROOT_JOINTS = "root motion removed"
VELOCITY_BASELINES = ("constant_velocity", "constant_velocity_xyz")
SLOW_BASELINES = ("zero_velocity", "ridge", "ridge_xyz")
SHORT_MS = 80
"""Here a model must beat constant velocity."""
LATER_MS = (320, 400, 560, 1000)
"""Here it must beat standing still and ridge regression."""
TOLD_MS = (80, 400, 1000)
"""Horizons at which activities are told apart."""
MOST_POSITION_MSE = 0.001
LEAST_R2 = 0.8
MOST_RATIO = 10.0


@dataclass(frozen=True)
class Target:
    """One thing that a model should reach."""

    name: str
    """What is asked."""
    value: float | None
    """What the model has."""
    limit: float
    """What it is held against."""
    met: bool
    """Whether it is reached."""


def targets_of(scores: Scores) -> list[Target]:
    """What the model of `scores` should reach; empty without a model."""
    if MODEL not in scores:
        return []
    model, found = scores[MODEL], []
    for ms, rivals in (
        (SHORT_MS, VELOCITY_BASELINES),
        *((ms, SLOW_BASELINES) for ms in LATER_MS),
    ):
        here = {n: scores[n].mpjpe_mm.get(str(ms)) for n in rivals if n in scores}
        known = {name: value for name, value in here.items() if value is not None}
        if known:
            best = min(known, key=lambda name: known[name])
            ask = f"MPJPE at {ms} ms below the best of {', '.join(known)} ({best})"
            found.append(_below(ask, model.mpjpe_mm[str(ms)], known[best]))
    step = model.single_step
    ask = "single-step position MSE"
    found.append(_below(ask, step.position_mse, MOST_POSITION_MSE))
    r2 = step.r2
    r2 = None if r2 is None or not np.isfinite(r2) else r2
    met = r2 is not None and r2 > LEAST_R2
    found.append(Target("single-step R^2, pooled", r2, LEAST_R2, met))
    if model.growth is not None:
        for name, growth in model.growth.items():
            last = growth.steps[-1]
            ask = f"{name}: error at step {last} over step 1"
            found.append(_below(ask, growth.ratio, MOST_RATIO))
            found.append(_below(f"{name}: log-log slope 10..60", growth.slope, 1.0))
    return found


def truth_of(windows: Windows) -> dict[str, Any]:
    """What the real motion itself scores where that is not zero by definition."""
    return {"foot_skate_cm_s": float(skate_of(windows, windows.future.world).mean())}


def sizes_of(windows: Windows) -> dict[str, Any]:
    """How much the scores rest on."""
    known = windows.past.positions.shape[1]
    return {
        "windows": len(windows),
        "clips": len(windows.names),
        "known_frames": known,
        "predicted_frames": windows.steps,
        "names": list(windows.names),
    }


def report_data(facts: Mapping[str, Any], found: Evaluation) -> dict[str, Any]:
    """Everything that was found, ready for JSON; `facts` say how."""
    return {
        "format": FORMAT,
        "version": VERSION,
        **facts,
        "fitted": dict(found.fitted),
        "windows": sizes_of(found.windows),
        "growth_windows": None if found.long is None else sizes_of(found.long),
        "methods": {name: score.to_dict() for name, score in found.scores.items()},
        TRUTH: truth_of(found.windows),
        "model_minus": {name: dict(rows) for name, rows in found.differences.items()},
        "targets": [asdict(target) for target in targets_of(found.scores)],
    }


def report_json(data: Mapping[str, Any]) -> str:
    """`data` as JSON text."""
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def told_horizons(scores: MethodScores) -> list[str]:
    """The few horizons at which activities are told apart, [ms]."""
    found = [ms for ms in scores.mpjpe_mm if int(ms) in TOLD_MS]
    return found or list(scores.mpjpe_mm)[-1:]


def print_scores(found: Evaluation, console: Console) -> None:
    """All tables."""
    scores, windows, long = found.scores, found.windows, found.long
    widen(console)
    about = f"{len(windows)} windows of {len(windows.names)} clips"
    console.print(_horizon_table(scores, about, world=False))
    console.print(_horizon_table(scores, about, world=True))
    console.print(_detail_table(scores, truth_of(windows)["foot_skate_cm_s"]))
    if long is not None:
        console.print(_growth_table(scores, long))
    console.print(_activity_table(scores))
    targets = targets_of(scores)
    if targets:
        console.print(_target_table(targets))


def _horizon_table(scores: Scores, about: str, *, world: bool) -> Table:
    kind = "in the world" if world else NO_ROOT_JOINTS
    table = _table(
        f"joint distance (MPJPE) [mm], {kind}; {about}; "
        "± half the 95 % interval over clips",
        "method",
    )
    values = {
        name: s.mpjpe_world_mm if world else s.mpjpe_mm for name, s in scores.items()
    }
    intervals = {
        name: s.mpjpe_world_mm_ci95 if world else s.mpjpe_mm_ci95
        for name, s in scores.items()
    }
    for ms in next(iter(values.values())):
        table.add_column(f"{ms} ms", justify="right", no_wrap=True)
    for name, row in values.items():
        cells = []
        for ms, value in row.items():
            low, high = intervals[name][ms]
            text = f"{value:.1f} ±{(high - low) / 2:.1f}"
            least = min(other[ms] for other in values.values())
            cells.append(f"[green]{text}[/green]" if value == least else text)
        table.add_row(escape(name), *cells, style=_style(name))
    return table


def _detail_table(scores: Scores, true_skate: float) -> Table:
    table = _table(
        f"first frame, and the whole window; foot skate of the truth {true_skate:.2f} cm/s",
        "method",
    )
    for heading in (
        "pos. MSE", "vel. MSE", "R2", "R2 mean", "R2 pos.", "MPJPE mm",
        "NPSS", "Euler rad", "Euler MAE deg", "angle deg", "skate cm/s",
    ):  # fmt: skip
        table.add_column(heading, justify="right", no_wrap=True)
    for name, s in scores.items():
        step = s.single_step
        table.add_row(
            escape(name),
            _cell(step.position_mse, ".2e"),
            _cell(step.velocity_mse, ".3f"),
            _cell(step.r2, ".3f"),
            _cell(step.r2_mean, ".3f"),
            _cell(step.r2_positions, ".4f"),
            _cell(step.mpjpe_mm, ".2f"),
            _cell(s.npss, ".4f"),
            _cell(_last(s.euler_rad), ".2f"),
            _cell(_last(s.euler_mae_deg), ".2f"),
            _cell(_last(s.joint_angle_deg), ".2f"),
            _cell(s.foot_skate_cm_s, ".2f"),
            style=_style(name),
        )
    last = list(next(iter(scores.values())).mpjpe_mm)[-1]
    table.caption = f"Euler and angle errors: at {last} ms, without the root"
    return table


def _growth_table(scores: Scores, long: Windows) -> Table:
    table = _table(
        f"growth of the error; {len(long)} windows of {len(long.names)} clips",
        "method",
    )
    first = next(s.growth for s in scores.values() if s.growth is not None)
    steps = first["mpjpe_mm"].steps
    for step in steps:
        table.add_column(f"mm, step {step}", justify="right", no_wrap=True)
    for heading in ("ratio", "slope", "MSE ratio", "MSE slope", "world ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, s in scores.items():
        if s.growth is None:
            continue
        local, world = s.growth["mpjpe_mm"], s.growth["mpjpe_world_mm"]
        squares = s.growth.get("position_mse")
        table.add_row(
            escape(name),
            *(f"{value:.1f}" for value in local.values),
            _cell(local.ratio, ".1f"),
            _cell(local.slope, ".2f"),
            _cell(None if squares is None else squares.ratio, ".1f"),
            _cell(None if squares is None else squares.slope, ".2f"),
            _cell(world.ratio, ".1f"),
            style=_style(name),
        )
    table.caption = "ratio: last step over the first; slope: log-log from 10 to 60"
    return table


def _activity_table(scores: Scores) -> Table:
    first = next(iter(scores.values()))
    told = told_horizons(first)
    table = _table(
        f"MPJPE [mm] by activity at {' / '.join(told)} ms, {NO_ROOT_JOINTS}", "activity"
    )
    table.add_column("windows", justify="right")
    for name in scores:
        table.add_column(escape(name), justify="right")
    for activity, row in first.per_activity.items():
        cells = [
            "/".join(f"{s.per_activity[activity]['mpjpe_mm'][ms]:.0f}" for ms in told)
            for s in scores.values()
        ]
        table.add_row(escape(activity), str(row["windows"]), *cells)
    return table


def _target_table(targets: Sequence[Target]) -> Table:
    table = _table("targets", "target")
    for heading in ("value", "limit", "reached"):
        table.add_column(heading, justify="right", no_wrap=True)
    for target in targets:
        table.add_row(
            escape(target.name),
            _cell(target.value, ".4g"),
            f"{target.limit:.4g}",
            "[green]yes[/green]" if target.met else "[red]no[/red]",
        )
    return table


def _table(title: str, first: str) -> Table:
    table = Table(title=escape(title), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    return table


def _below(name: str, value: float | None, limit: float) -> Target:
    known = None if value is None or not np.isfinite(value) else value
    return Target(name, known, limit, known is not None and known < limit)


def _last(values: Mapping[str, float] | None) -> float | None:
    return None if values is None else list(values.values())[-1]


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None or not np.isfinite(value) else format(value, form)


def _style(name: str) -> str | None:
    return "bold" if name == MODEL else None
