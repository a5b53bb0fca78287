"""Evaluation results as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ambulo.common.tables import widen
from ambulo.evaluate.vr.scores import EvaluationResult
from ambulo.viz.html_report import POLICY

Results = Mapping[str, EvaluationResult]


def print_tables(results: Results, console: Console, world: str) -> None:
    """The scores of all agents, then success and SPL by family."""
    widen(console)
    console.print(score_table(results, world))
    families = next(iter(results.values())).per_family
    if len(families) > 1:
        console.print(family_table(results))


def score_table(results: Results, world: str) -> Table:
    """One row an agent."""
    count = next(iter(results.values())).episodes
    table = Table(
        title=f"{count} episodes, world {world}; ± half the 95 % interval; "
        "bumps: collisions per episode",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("agent", no_wrap=True)
    for name in (
        "success", "SPL", "SoftSPL", "BARN", "bumps", "falls", "timeouts", "time s",
        "path m", "comfort", "return",
    ):  # fmt: skip
        table.add_column(name, justify="right", no_wrap=True)
    for name, r in results.items():
        table.add_row(
            name,
            _with_half(r.success_rate, r.success_ci95),
            _with_half(r.spl, r.spl_ci95),
            f"{r.soft_spl:.2f}",
            f"{r.barn:.2f}",
            f"{r.collisions_per_episode:.2f}",
            str(r.falls),
            str(r.timeouts),
            f"{r.mean_time_s:.1f}",
            f"{r.mean_path_m:.1f}",
            f"{r.comfort_score:.2f}",
            f"{r.return_mean:.0f}",
            style="bold" if name == POLICY else None,
        )
    return table


def family_table(results: Results) -> Table:
    """One row a family, one column an agent: success/SPL/collision events."""
    table = Table(
        title="by family: success/SPL/bumps",
        box=box.SIMPLE_HEAD,
    )
    table.add_column("family", no_wrap=True)
    for name in results:
        table.add_column(name, justify="right", no_wrap=True)
    for family in next(iter(results.values())).per_family:
        rows = [r.per_family[family] for r in results.values()]
        table.add_row(escape(family), *map(family_cell, rows))
    return table


def family_cell(row: Mapping[str, float]) -> str:
    """Success/SPL/collisions per episode of one family."""
    return (
        f"{row['success_rate']:.2f}/{row['spl']:.2f}/"
        f"{row['collisions_per_episode']:.1f}"
    )


def with_interval(value: float, interval: tuple[float, float]) -> str:
    """`0.93 [0.88, 0.97]`."""
    return f"{value:.2f} [{interval[0]:.2f}, {interval[1]:.2f}]"


def _with_half(value: float, interval: tuple[float, float]) -> str:
    """`0.93 ±0.05`: what a terminal has room for."""
    return f"{value:.2f} ±{(interval[1] - interval[0]) / 2:.2f}"
