"""The report of a VR-navigation evaluation: one HTML file without links."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ambulo.envs.vr.task.metrics import COMFORT_PROXIES
from ambulo.evaluate.vr.scores import EvaluationResult
from ambulo.evaluate.vr.tables import family_cell, with_interval
from ambulo.viz.html_report import (
    facts_table,
    figure_html,
    page_html,
    png_uri,
    table_html,
    tiles_html,
    video_html,
)


@dataclass(frozen=True)
class Report:
    """What a report shows."""

    title: str
    """Headline."""
    about: str
    """The agent whose numbers stand at the top."""
    facts: Mapping[str, str]
    """How the numbers were made."""
    results: Mapping[str, EvaluationResult]
    """By agent."""
    pictures: Sequence[tuple[str, bytes]] = ()
    """Captions and PNG data."""
    video: Path | None = None
    """An .mp4 or .gif file."""
    notes: Sequence[str] = field(default_factory=tuple)
    """Plain sentences at the end."""


def report_html(report: Report) -> str:
    """The report as one self-contained HTML page."""
    parts = [
        f"<h1>{html.escape(report.title)}</h1>",
        _headline(report.about, report.results[report.about]),
        "<h2>Scores</h2>",
        _score_table(report.results),
        "<p class='note'>Brackets: 95 % bootstrap intervals of the mean. SPL: success "
        "weighted by path length, against the shortest walkable way to the edge of the "
        "goal. BARN: success against time, 0.5 at best. All agents played the same "
        "episodes.</p>",
    ]
    if len(next(iter(report.results.values())).per_family) > 1:
        parts += [
            "<h2>By level family</h2>",
            "<p class='note'>success / SPL / collisions per episode</p>",
            _family_table(report.results),
        ]
    for caption, data in report.pictures:
        parts.append(figure_html(caption, png_uri(data)))
    if report.video is not None:
        parts.append(video_html(report.video))
    parts += ["<h2>Comfort proxies</h2>", _comfort_table(report.results)]
    parts += ["<h2>How this was made</h2>", facts_table(report.facts)]
    parts += [f"<p class='note'>{html.escape(note)}</p>" for note in report.notes]
    return page_html(report.title, parts)


def _headline(name: str, r: EvaluationResult) -> str:
    """Large numbers of one agent."""
    tiles = {
        "success": f"{100 * r.success_rate:.1f} %",
        "SPL": f"{r.spl:.3f}",
        "collisions / episode": f"{r.collisions_per_episode:.2f}",
        "falls": f"{r.falls}",
        "mean time": f"{r.mean_time_s:.1f} s",
        "comfort score": f"{r.comfort_score:.2f}",
    }
    return f"<p>{html.escape(name)} over {r.episodes} episodes</p>{tiles_html(tiles)}"


def _score_table(results: Mapping[str, EvaluationResult]) -> str:
    head = [
        "agent", "success", "SPL", "SoftSPL", "BARN", "collisions / episode", "falls",
        "timeouts", "time [s]", "path [m]", "comfort", "return",
    ]  # fmt: skip
    rows = [
        [
            name,
            with_interval(r.success_rate, r.success_ci95),
            with_interval(r.spl, r.spl_ci95),
            f"{r.soft_spl:.3f}",
            f"{r.barn:.3f}",
            f"{r.collisions_per_episode:.2f}",
            f"{r.falls}",
            f"{r.timeouts}",
            f"{r.mean_time_s:.1f}",
            f"{r.mean_path_m:.1f}",
            f"{r.comfort_score:.3f}",
            f"{r.return_mean:.1f}",
        ]
        for name, r in results.items()
    ]
    return f"<div class='scores'>{table_html(head, rows)}</div>"


def _family_table(results: Mapping[str, EvaluationResult]) -> str:
    families = next(iter(results.values())).per_family
    rows = [
        [family, *(family_cell(r.per_family[family]) for r in results.values())]
        for family in families
    ]
    return table_html(["family", *results], rows)


def _comfort_table(results: Mapping[str, EvaluationResult]) -> str:
    rows = []
    for key, proxy in COMFORT_PROXIES.items():
        values = [f"{r.comfort[key]:.3g}" for r in results.values()]
        unit = "" if proxy.unit == "1" else f" [{proxy.unit}]"
        rows.append([f"{proxy.meaning}{unit}", *values, proxy.source])
    table = table_html(
        ["proxy", *results, "why it is reported"], rows, left={len(rows[0]) - 1}
    )
    return (
        "<p class='note'>Physical quantities that the literature links to discomfort "
        f"in VR. None of them measures how a person feels.</p>{table}"
    )
