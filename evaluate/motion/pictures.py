"""Pictures and film of an evaluation of motion predictors, written to a folder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from ambulo.configs.errors import RenderError
from ambulo.evaluate.motion.baselines import Forecast
from ambulo.evaluate.motion.evaluation import MotionEvaluation
from ambulo.evaluate.motion.figures import (
    PATHS,
    DrawnWindows,
    draw_activities,
    draw_growth,
    draw_horizons,
    draw_root_paths,
    draw_traces,
)
from ambulo.evaluate.motion.metrics import joint_distance_mm
from ambulo.evaluate.motion.windows import Windows
from ambulo.evaluate.shared.result import POLICY, Picture, main_agent
from ambulo.motion import human23

DRAWN = (POLICY, "constant_velocity", "ridge")
"""Methods in the pictures of single windows."""
FILMS = ("prediction.mp4", "prediction.gif")
STILL_WINDOW = 0.3
"""Share of the windows, those of the least movement, that no single picture shows."""


class MotionPictures:
    """Pictures and films of an evaluation, drawn on request."""

    def __init__(self, measured: MotionEvaluation) -> None:
        """Draw the results of `measured`."""
        self._measured = measured
        self._agent = main_agent(measured.scores)

    @cached_property
    def _shown(self) -> DrawnWindows:
        """Median windows of several clips, and what each method predicts for them."""
        measured = self._measured
        windows = measured.windows if measured.long is None else measured.long
        predict = measured.predictors[self._agent]
        predicted = predict(windows.past, windows.steps, windows.fps)
        errors = joint_distance_mm(predicted.local, windows.future.local).mean(axis=1)
        chosen = windows[np.array(shown_windows(errors, windows))]
        names = [name for name in (*DRAWN, self._agent) if name in measured.predictors]
        return DrawnWindows(
            chosen,
            {
                name: measured.predictors[name](chosen.past, chosen.steps, chosen.fps)
                for name in dict.fromkeys(names)
            },
        )

    def pictures(self) -> list[Picture]:
        """Draw all pictures; growth only where clips are long enough."""
        measured, shown = self._measured, self._shown
        windows, scores = measured.windows, measured.scores
        note = f"{len(windows)} windows of {len(windows.names)} clips"
        drawn = (
            ("horizons.png", "Error by horizon", draw_horizons(scores, note)),
            ("growth.png", "Growth of the error", draw_growth(scores, windows.fps)),
            ("root_paths.png", "Root paths of median windows", draw_root_paths(shown)),
            ("joint_traces.png", "Joints of the median window", draw_traces(shown)),
            ("activities.png", "Error by activity", draw_activities(scores)),
        )
        return [
            Picture(n, caption, png) for n, caption, png in drawn if png is not None
        ]

    def film(self, path: Path, console: Console) -> None:
        """Film the median window: true motion beside the prediction."""
        del console
        shown, agent = self._shown, self._agent
        if shown.forecasts[agent].poses is None:
            raise RenderError(f"{agent} predicts points, which are not filmed")
        write_prediction(path, shown.windows, shown.forecasts[agent], agent)


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
    path: Path, windows: Windows, forecast: Forecast, label: str
) -> Path:
    """Film of the first window: what was, beside what `forecast` says, from the same past.

    Raises:
        RenderError: another ending than .mp4 or .gif, or the encoder fails.
    """
    from ambulo.viz.skeleton_actor import actor_of, on_one_ground
    from ambulo.viz.skeleton_film import write_film

    assert forecast.poses is not None, "only poses can be filmed"
    past = windows.past.positions[0]
    futures = (windows.future.positions[0], forecast.poses.positions[0])
    labels = ("ground truth", label.replace("_", " "))
    actors = [
        actor_of(
            human23.from_positions(np.concatenate([past, future]), windows.fps),
            label=text,
        )
        for future, text in zip(futures, labels, strict=True)
    ]
    clip = int(windows.clips[0])
    return write_film(
        path,
        on_one_ground(actors),
        windows.fps,
        title=f"{windows.names[clip]} ({windows.activities[clip]})",
        captions=_captions(len(past), windows.steps, windows.fps),
        ghost=True,
    )


def _captions(known: int, steps: int, fps: float) -> Sequence[str]:
    ahead = [f"predicted {1000.0 * k / fps:.0f} ms" for k in range(1, steps + 1)]
    return ["known"] * known + ahead
