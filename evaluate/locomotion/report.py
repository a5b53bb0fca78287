"""Tables, pictures and the HTML page of an evaluation of locomotion."""

from __future__ import annotations

import html
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from ambulo.common.files import write_atomic, write_bytes
from ambulo.common.run_folder import provenance
from ambulo.common.tables import widen
from ambulo.evaluate.locomotion.figures import (
    draw_gait,
    draw_joint_errors,
    draw_pushes,
)
from ambulo.evaluate.locomotion.gait_norms import JOINTS, gait_norms
from ambulo.evaluate.locomotion.pushes import PushRecovery
from ambulo.evaluate.locomotion.scores import LocomotionScores
from ambulo.viz.html_report import (
    facts_table,
    figure_html,
    page_html,
    png_uri,
    table_html,
    tiles_html,
    video_html,
)

NOTE = (
    "On feet: share, with its 95 % Wilson interval. "
    "Errors of joints: against the reference at the same phase; cm as seen from the root. "
    "Speed, heading and turning: means over 1 s against what was wanted. CoT: "
    "absolute joint work over weight and way. Symmetry: 1 for two sides alike."
)
"""What the columns are."""


@dataclass(frozen=True)
class Found:
    """Everything that an evaluation found, by contestant; the first is the hero."""

    scores: Mapping[str, LocomotionScores]
    """Of undisturbed episodes."""
    pushes: Mapping[str, PushRecovery] = field(default_factory=dict)
    """Push recovery, where it was tried."""

    @property
    def hero(self) -> str:
        """Whom a report is about."""
        return next(iter(self.scores))

    def agents(self) -> dict[str, Any]:
        """Plain JSON by contestant."""
        out = {}
        for name, scores in self.scores.items():
            pushes = self.pushes.get(name)
            told = None if pushes is None else pushes.to_dict()
            out[name] = {**scores.to_dict(), "push_recovery": told}
        return out


def print_found(found: Found, console: Console, seconds: float) -> None:
    """Scores of all contestants, and survival by impulse."""
    widen(console)
    count = found.scores[found.hero].episodes
    heads, rows = _score_rows(found)
    title = f"{count} episodes of {seconds:g} s"
    console.print(_rich_table(title, heads, rows, found.hero))
    if found.pushes:
        heads, rows = _push_rows(found)
        console.print(_rich_table("on its feet after a push", heads, rows, found.hero))


def write_locomotion_report(
    folder: Path,
    found: Found,
    facts: Mapping[str, str],
    video: Path | None = None,
) -> Path:
    """Write `report.html` and its pictures into the existing `folder`; the page."""
    scores = found.scores[found.hero]
    pictures = []
    if scores.gait is not None:
        caption = f"Gait cycle of {found.hero}: {scores.gait.strides} strides"
        pictures.append(("gait.png", caption, draw_gait(scores.gait, found.hero)))
    if found.pushes:
        caption = "Push recovery"
        pictures.append(("pushes.png", caption, draw_pushes(found.pushes)))
    caption = "Tracking error by joint"
    pictures.append(("joints.png", caption, draw_joint_errors(found.scores)))
    for name, _, data in pictures:
        write_bytes(folder / name, data)
    page = folder / "report.html"
    shown = [(caption, data) for _, caption, data in pictures]
    write_atomic(
        page, page_html("Locomotion: evaluation", _body(found, facts, shown, video))
    )
    return page


def _body(
    found: Found,
    facts: Mapping[str, str],
    pictures: list[tuple[str, bytes]],
    video: Path | None,
) -> list[str]:
    """The page's parts."""
    hero = html.escape(found.hero)
    scores = found.scores[found.hero]
    parts = [
        "<h1>Locomotion: evaluation</h1>",
        f"<p>{hero} over {scores.episodes} episodes</p>",
        tiles_html(_tiles(found)),
        "<h2>Scores</h2>",
        f"<div class='scores'>{table_html(*_score_rows(found))}</div>",
        f"<p class='note'>{NOTE}</p>",
    ]
    if found.pushes:
        parts += ["<h2>On its feet after a push</h2>", table_html(*_push_rows(found))]
    if video is not None:
        parts.append(video_html(video))
    parts += [figure_html(caption, png_uri(data)) for caption, data in pictures]
    if scores.gait is not None:
        norms = gait_norms()
        parts += [
            "<h2>Against normal gait</h2>",
            table_html(*_norm_rows(scores)),
            f"<p class='note'>Angles: {html.escape(norms.angle_source)}. Force: "
            f"{html.escape(norms.force_source)}. The offset is the mean difference: a "
            "posture, or another zero of the angle.</p>",
        ]
    made = provenance(0)
    told = {
        **facts,
        "made": time.strftime("%Y-%m-%d %H:%M %Z"),
        "versions": f"ambulo {made['ambulo']}, python {made['python']}, "
        + ", ".join(f"{k} {v}" for k, v in made["packages"].items()),
    }
    return [*parts, "<h2>How this was made</h2>", facts_table(told)]


def _tiles(found: Found) -> dict[str, str]:
    scores, pushes = found.scores[found.hero], found.pushes.get(found.hero)
    tiles = {
        "on its feet": f"{100 * scores.survival_rate:.0f} %",
        "leg joint error": _number(scores.joint_error_deg, ".1f", " deg"),
        "speed": _number(scores.speed, ".2f", " m/s"),
        "speed error": _number(scores.speed_error, ".3f", " m/s"),
        "cost of transport": _number(scores.cost_of_transport, ".2f"),
    }
    if not math.isnan(scores.metabolic_cost_of_transport):
        spent = _number(scores.metabolic_cost_of_transport, ".2f", " J/(kg m)")
        tiles["metabolic cost of transport"] = spent
    if pushes is not None:
        tiles["impulse that 90 % survive"] = f"{pushes.impulse_90:.0f} N s"
    return tiles


def _score_rows(found: Found) -> tuple[list[str], list[list[str]]]:
    heads = [
        "agent", "on feet", "time s", "legs deg", "joints cm", "speed m/s",
        "speed error", "heading deg", "turn deg/s", "CoT", "skate m/s",
        "symmetry", "torque off", "return",
    ]  # fmt: skip
    rows = []
    for name, s in found.scores.items():
        low, high = (100 * end for end in s.survival_ci95)
        rows.append(
            [
                name,
                f"{100 * s.survival_rate:.0f} % ({low:.0f}-{high:.0f})",
                f"{s.survival_s:.1f}",
                _number(s.joint_error_deg, ".2f"),
                _number(s.joint_error_cm, ".2f"),
                _number(s.speed, ".3f"),
                _number(s.speed_error, ".3f"),
                _number(s.heading_error, ".1f"),
                _number(s.turn_error, ".1f"),
                _number(s.cost_of_transport, ".2f"),
                _number(s.foot_skate, ".3f"),
                _number(s.symmetry, ".2f"),
                _number(s.torque_residual, ".2f"),
                f"{s.return_mean:.0f}",
            ]
        )
    return heads, rows


def _push_rows(found: Found) -> tuple[list[str], list[list[str]]]:
    impulses = sorted({i for p in found.pushes.values() for i in p.impulses})
    heads = ["agent", *(f"{i:g} N s" for i in impulses), "90 % survive"]
    rows = []
    for name, pushes in found.pushes.items():
        shares = dict(zip(pushes.impulses, pushes.survival, strict=True))
        cells = [f"{100 * shares[i]:.0f} %" if i in shares else "-" for i in impulses]
        rows.append([name, *cells, f"{pushes.impulse_90:.0f} N s"])
    return heads, rows


def _norm_rows(scores: LocomotionScores) -> tuple[list[str], list[list[str]]]:
    heads = [
        "angle", "rms off deg", "offset deg", "rms off without offset deg",
        "within 2 sd", "the same without offset", "range deg", "normal range deg",
    ]  # fmt: skip
    assert scores.gait is not None, "asked for a gait only"
    rows = []
    for joint in JOINTS:
        r = scores.gait.likeness[joint]
        rows.append(
            [
                joint,
                f"{r.rms:.1f}",
                f"{r.offset:+.1f}",
                f"{r.rms_shape:.1f}",
                f"{100 * r.inside:.0f} %",
                f"{100 * r.inside_shape:.0f} %",
                f"{r.range:.0f}",
                f"{r.normal_range:.0f}",
            ]
        )
    return heads, rows


def _rich_table(
    title: str, heads: list[str], rows: list[list[str]], hero: str
) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(heads[0], no_wrap=True)
    for head in heads[1:]:
        table.add_column(head, justify="right")
    for row in rows:
        table.add_row(*row, style="bold" if row[0] == hero == "policy" else None)
    return table


def _number(value: float, form: str, unit: str = "") -> str:
    return "-" if math.isnan(value) else f"{value:{form}}{unit}"
