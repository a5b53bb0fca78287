"""Pictures, video and HTML page of an evaluation, written to a folder."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from ambulo.common.files import write_atomic, write_bytes
from ambulo.common.run_folder import RunFolder, provenance
from ambulo.configs.errors import RenderError
from ambulo.configs.vr import NavigationConfig
from ambulo.evaluate.vr.figures import (
    draw_families,
    draw_learning_curve,
    draw_trajectories,
    failures,
    first_of_each,
    longest_detour,
)
from ambulo.evaluate.vr.films import write_episode_video
from ambulo.evaluate.vr.report import Report, report_html
from ambulo.evaluate.vr.scores import EpisodeRecords, EvaluationResult
from ambulo.viz.html_report import POLICY


def write_report(
    folder: Path,
    records: Mapping[str, EpisodeRecords],
    results: Mapping[str, EvaluationResult],
    facts: Mapping[str, str],
    goal_radius: float,
    run: RunFolder | None = None,
    video: Path | None = None,
    title: str = "VR navigation: evaluation",
) -> Path:
    """Write `report.html` and its pictures into the existing `folder`; the page.

    Args:
        folder: where to.
        records: episodes by agent; the report is about `hero(records)`.
        results: scores by agent.
        facts: how the numbers were made, shown at the end.
        goal_radius: drawn on the maps, [m].
        run: the training that the agent comes from, for its learning curve.
        video: shown in the page.
        title: of the page.
    """
    about = hero(records)
    shown = {name: records[name] for name in _on_maps(records)}
    pictures = [
        (
            "trajectories.png",
            "Paths: the first episode of each family",
            draw_trajectories(shown, first_of_each(records[about]), goal_radius),
        )
    ]
    failed = failures(records[about])
    if failed:
        pictures.append(
            (
                "failures.png",
                f"First episodes that {about} did not solve",
                draw_trajectories(shown, failed, goal_radius),
            )
        )
    if len(results[about].per_family) > 1:
        pictures.append(
            ("families.png", "Success and SPL by family", draw_families(results))
        )
    curve = draw_learning_curve(run) if run is not None else None
    if curve is not None:
        pictures.append(("learning_curve.png", "Training", curve))
    for name, _, data in pictures:
        write_bytes(folder / name, data)
    made = provenance(0)
    facts = {
        **facts,
        "made": time.strftime("%Y-%m-%d %H:%M %Z"),
        "versions": f"ambulo {made['ambulo']}, python {made['python']}, "
        + ", ".join(f"{k} {v}" for k, v in made["packages"].items()),
    }
    page = folder / "report.html"
    report = Report(
        title,
        about,
        facts,
        results,
        [(caption, data) for _, caption, data in pictures],
        video,
    )
    write_atomic(page, report_html(report))
    return page


def write_video_of(
    records: Mapping[str, EpisodeRecords],
    config: NavigationConfig,
    path: Path,
    console: Console,
) -> Path | None:
    """Video of an episode of the hero; None and a message where that fails."""
    try:
        write_episode_video(longest_detour(records[hero(records)]), config, path)
    except RenderError as error:
        console.print(f"no video: {error}", soft_wrap=True, markup=False)
        return None
    console.print(f"video: {path}", soft_wrap=True, markup=False)
    return path


def hero(records: Mapping[str, EpisodeRecords]) -> str:
    """Whom a report is about: the policy, or the last of the baselines."""
    return POLICY if POLICY in records else list(records)[-1]


def _on_maps(records: Mapping[str, EpisodeRecords]) -> list[str]:
    """Whose paths are drawn: the policy's beside the oracle's, or the planners'."""
    names = list(records)
    if POLICY in names:
        return [name for name in names if name in (POLICY, "oracle")]
    return [name for name in names if name not in ("random", "straight")] or names
