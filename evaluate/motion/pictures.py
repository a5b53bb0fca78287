"""Pictures and film of an evaluation of motion predictors, written to a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from ambulo.common.files import write_bytes
from ambulo.configs.errors import RenderError
from ambulo.evaluate.motion.baselines import Forecast
from ambulo.evaluate.motion.evaluation import MODEL, Evaluation
from ambulo.evaluate.motion.figures import (
    PATHS,
    Shown,
    draw_activities,
    draw_growth,
    draw_horizons,
    draw_root_paths,
    draw_traces,
)
from ambulo.evaluate.motion.metrics import joint_distance_mm
from ambulo.evaluate.motion.windows import Windows
from ambulo.motion import human23

DRAWN = (MODEL, "constant_velocity", "ridge")
"""Methods in the pictures of single windows."""
FILMS = ("prediction.mp4", "prediction.gif")
STILL_WINDOW = 0.3
"""Share of the windows, those of the least movement, that no single picture shows."""


def write_pictures(
    folder: Path, found: Evaluation, console: Console, *, video: bool
) -> list[Path]:
    """Write all pictures, and films with `video`, into the existing `folder`."""
    windows = found.windows if found.long is None else found.long
    hero = MODEL if MODEL in found.predictors else "ridge"
    predicted = found.predictors[hero](windows.past, windows.steps, windows.fps)
    errors = joint_distance_mm(predicted.local, windows.future.local).mean(axis=1)
    rows = shown_windows(errors, windows)
    shown = _shown(found, windows[np.array(rows)])
    note = f"{len(found.windows)} windows of {len(found.windows.names)} clips"
    pictures = {
        "horizons.png": draw_horizons(found.scores, note),
        "growth.png": draw_growth(found.scores, windows.fps),
        "root_paths.png": draw_root_paths(shown),
        "joint_traces.png": draw_traces(shown),
        "activities.png": draw_activities(found.scores),
    }
    written = []
    for name, data in pictures.items():
        if data is not None:
            write_bytes(folder / name, data)
            written.append(folder / name)
        else:
            console.print(f"no {name}: the clips are too short for 60 later frames")
    if video:
        try:
            for name in FILMS:
                write_prediction(
                    folder / name, shown.windows, shown.forecasts[hero], hero
                )
                written.append(folder / name)
        except RenderError as error:
            console.print(f"no video: {error}", soft_wrap=True, markup=False)
    return written


def shown_windows(errors: NDArray[np.float64], windows: Windows) -> list[int]:
    """Rows to draw: the median window, then the median windows of other clips.

    Windows of little movement are passed over; of the rest neither the best nor the
    worst is shown.

    Args:
        errors: Mean error of each window. Shape (B,).
        windows: The same windows.
    """
    way = joint_distance_mm(windows.future.world, windows.past.world[:, -1:]).mean(
        axis=1
    )
    moving = np.flatnonzero(way >= np.quantile(way, STILL_WINDOW))

    def median(rows: NDArray[np.int64]) -> int:
        return int(rows[np.argsort(errors[rows], kind="stable")[len(rows) // 2]])

    chosen = [median(moving)]
    clips = windows.clips
    others = [c for c in np.unique(clips[moving]) if c != clips[chosen[0]]]
    step = max(1, len(others) // (PATHS - 1))
    for clip in others[::step][: PATHS - 1]:
        chosen.append(median(moving[clips[moving] == clip]))
    return chosen


def write_prediction(
    path: Path, windows: Windows, forecast: Forecast, label: str, row: int = 0
) -> Path:
    """Film of one window: what was, beside what `forecast` says, from the same past.

    Raises:
        RenderError: another ending than .mp4 or .gif, or the encoder fails.
    """
    from ambulo.viz.skeleton_actor import actor_of
    from ambulo.viz.skeleton_film import write_film

    assert forecast.poses is not None, "only poses can be filmed"
    past = windows.past.positions[row]
    futures = (windows.future.positions[row], forecast.poses.positions[row])
    labels = ("ground truth", label.replace("_", " "))
    actors = [
        actor_of(
            human23.from_positions(np.concatenate([past, future]), windows.fps),
            label=text,
        )
        for future, text in zip(futures, labels, strict=True)
    ]
    ground = actors[0].ground
    clip = int(windows.clips[row])
    return write_film(
        path,
        [replace(actor, ground=ground) for actor in actors],
        windows.fps,
        title=f"{windows.names[clip]} ({windows.activities[clip]})",
        captions=_captions(len(past), windows.steps, windows.fps),
        ghost=True,
    )


def _captions(known: int, steps: int, fps: float) -> Sequence[str]:
    ahead = [f"predicted {1000.0 * k / fps:.0f} ms" for k in range(1, steps + 1)]
    return ["known"] * known + ahead


def _shown(found: Evaluation, windows: Windows) -> Shown:
    names = [name for name in DRAWN if name in found.predictors]
    forecasts = {
        name: found.predictors[name](windows.past, windows.steps, windows.fps)
        for name in names
    }
    return Shown(windows, forecasts)
