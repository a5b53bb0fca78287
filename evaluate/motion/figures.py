"""Pictures of motion predictions: errors, their growth, root paths and joint traces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ambulo.common.figures import new_figure, png_of
from ambulo.configs.arrays import Floats
from ambulo.evaluate.motion.baselines import Forecast
from ambulo.evaluate.motion.scores import Growth, MethodScores, reported_horizons
from ambulo.evaluate.motion.windows import (
    MAJOR_JOINTS,
    BodyPoses,
    Heading,
    Windows,
    body,
)
from ambulo.evaluate.shared.result import POLICY
from ambulo.motion.rotations import quat_angle
from ambulo.viz.plots import TRUTH, agent_colour, clean, grouped_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Scores = Mapping[str, MethodScores]

MOST_ERROR = 1.35
"""Top of an error axis, in units of the largest error but that of constant velocity."""
TRACED = (
    ("left knee", "TibiaL"),
    ("left hip", "FemurL"),
    ("left shoulder", "ArmL"),
    ("right elbow", "ForeArmR"),
)
"""Joints whose angle from rest is drawn."""
PATHS = 6
"""Root paths in one picture."""


@dataclass(frozen=True, eq=False)
class DrawnWindows:
    """Windows to draw and what each method says about them."""

    windows: Windows
    """One row a window."""
    forecasts: Mapping[str, Forecast]
    """By method, of the same windows."""


def draw_horizons(scores: Scores, seed_note: str) -> bytes:
    """PNG: joint distance at every horizon, with and without the root's motion."""
    figure = new_figure((11.0, 4.6))
    titles = {"mpjpe_mm": "root motion removed", "mpjpe_world_mm": "in the world"}
    for column, (key, title) in enumerate(titles.items()):
        ax = figure.add_subplot(1, 2, column + 1)
        for name, s in scores.items():
            values = [row[key] for row in s.by_horizon.values()]
            times = [int(ms) for ms in s.by_horizon]
            means = [one.number for one in values]
            ax.plot(times, means, marker="o", ms=3.5, **_line(name))
            if name in (POLICY, "zero_velocity"):
                low, high = np.array([(one.low, one.high) for one in values], float).T
                ax.fill_between(
                    times, low, high, color=agent_colour(name), alpha=0.15, lw=0
                )
        ax.set_ylim(0, MOST_ERROR * _highest(scores, key))
        ax.set_xlim(0, None)
        ax.set_xlabel("after the last known frame [ms]")
        ax.set_ylabel("joint distance [mm]")
        ax.set_title(title, fontsize=10)
        clean(ax)
    figure.text(0.01, 0.01, seed_note, fontsize=7, color="#5b6675")
    return _finished(figure, scores, top=0.93, bottom=0.03)


def draw_growth(scores: Scores, fps: float) -> bytes | None:
    """PNG: errors against the number of predicted frames, both logarithmic."""
    grown = {name: s.growth for name, s in scores.items() if s.growth is not None}
    if not grown:
        return None
    figure = new_figure((11.0, 4.6))
    for column, (key, label) in enumerate(
        (
            ("mpjpe_mm", "joint distance [mm], root motion removed"),
            ("position_rmse", "root mean square error of the 56 positions"),
        )
    ):
        ax = figure.add_subplot(1, 2, column + 1)
        for name, growth in grown.items():
            if key in growth:
                curve = growth[key].curve
                ax.plot(range(1, len(curve) + 1), curve, **_line(name))
        _proportional(ax, grown, key)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ticks = next(iter(grown.values()))["mpjpe_mm"].steps
        ax.set_xticks(ticks, [f"{k}\n{1000 * k / fps:.0f} ms" for k in ticks])
        ax.minorticks_off()
        ax.set_xlabel("predicted frames")
        ax.set_title(label, fontsize=10)
        clean(ax)
    return _finished(figure, scores, top=0.93)


def draw_root_paths(shown: DrawnWindows) -> bytes:
    """PNG: the root's way over the ground in a few windows, known and predicted."""
    count = min(PATHS, len(shown.windows))
    columns = min(3, count)
    rows = -(-count // columns)
    height = 3.7 * rows + 0.5
    figure = new_figure((3.9 * columns, height))
    windows = shown.windows
    heading = Heading.of(windows.past.positions[:, -1])
    past = heading.inside(windows.past.positions)
    true = heading.inside(windows.future.positions)
    for row in range(count):
        ax = figure.add_subplot(rows, columns, row + 1)
        ax.plot(*past[row, :, 3:5].T, color=TRUTH, lw=2.4, alpha=0.35)
        joined = np.concatenate([past[:, -1:], true], axis=1)[row, :, 3:5]
        ax.plot(*joined.T, color=TRUTH, lw=2.4, label="truth")
        for name, found in shown.forecasts.items():
            if found.poses is not None:
                places = heading.inside(found.poses.positions)[row, :, 3:5]
                places = np.concatenate([past[row, -1:, 3:5], places])
                ax.plot(*places.T, **_line(name))
                ax.plot(*places[-1], "o", ms=4, color=agent_colour(name))
        ax.plot(*joined[-1], "o", ms=5, color=TRUTH)
        _square(ax)
        clip = int(windows.clips[row])
        ax.set_title(
            f"{windows.names[clip]} ({windows.activities[clip]})",
            fontsize=9,
            parse_math=False,
        )
        ax.set_xlabel("ahead [m]", fontsize=8)
        ax.set_ylabel("to the left [m]", fontsize=8)
        ax.tick_params(labelsize=7)
        clean(ax)
    return _finished(figure, shown.forecasts, truth=True, top=1 - 0.45 / height)


def draw_traces(shown: DrawnWindows) -> bytes:
    """PNG: joint angles and heights over time in the first of the windows."""
    windows = shown.windows
    fps, steps = windows.fps, windows.steps
    known = windows.past.positions.shape[1]
    before = 1000.0 * np.arange(1 - known, 1) / fps
    after = 1000.0 * np.arange(0, steps + 1) / fps
    figure = new_figure((11.0, 6.0))
    panels = [*TRACED, ("height of the pelvis", ""), ("height of the left toes", "")]
    for panel, (label, joint) in enumerate(panels):
        ax = figure.add_subplot(2, 3, panel + 1)
        past = _trace(windows.past, label, joint)
        ax.axvspan(before[0], 0.0, color="#eef1f5", lw=0)
        true = np.concatenate([past[-1:], _trace(windows.future, label, joint)])
        ax.plot(before, past, color=TRUTH, lw=2.4, alpha=0.5)
        ax.plot(after, true, color=TRUTH, lw=2.4)
        for name, found in shown.forecasts.items():
            if found.poses is not None:
                values = np.concatenate([past[-1:], _trace(found.poses, label, joint)])
                ax.plot(after, values, **_line(name))
        both = np.concatenate([past, true])
        low, high = both.min(), both.max()
        pad = 0.35 * (high - low) + (3.0 if joint else 0.01)
        ax.set_ylim(low - pad, high + pad)
        ax.set_title(f"{label} [{'deg from rest' if joint else 'm'}]", fontsize=9)
        ax.set_xlim(before[0], after[-1])
        if panel >= 3:
            ax.set_xlabel("time [ms]")
        clean(ax)
    return _finished(figure, shown.forecasts, truth=True, top=0.94)


def draw_activities(scores: Scores) -> bytes:
    """PNG of bars: joint distance of each method in each activity."""
    first = next(iter(scores.values()))
    reported = reported_horizons(first)
    activities = list(first.per_activity)
    figure = new_figure(
        (max(9.5, 1.3 * len(activities) + 2.0), 2.5 * len(reported) + 0.5)
    )
    for row, ms in enumerate(reported):
        ax = figure.add_subplot(len(reported), 1, row + 1)
        rows = {
            name: [s.per_activity[a]["mpjpe_mm"][ms] for a in activities]
            for name, s in scores.items()
        }
        calm = [v for name, v in rows.items() if not name.startswith("constant")]
        ax.set_ylim(0, MOST_ERROR * max(map(max, calm or list(rows.values()))))
        labels = [f"{a}\n{first.per_activity[a]['windows']}" for a in activities]
        grouped_bars(ax, labels, rows, fontsize=8)
        ax.set_ylabel(f"[mm] at {ms} ms")
    return _finished(
        figure, scores, bars=True, top=1 - 0.45 / (2.5 * len(reported) + 0.5)
    )


def _trace(poses: BodyPoses, label: str, joint: str) -> Floats:
    """A joint's angle from rest, [deg], or a height, [m], in window 0. Shape (T,)."""
    if joint:
        turned = poses.rotations[0, :, body().index(joint)]
        rest = np.zeros_like(turned)
        rest[:, 0] = 1.0
        return np.degrees(quat_angle(rest, turned))
    if "pelvis" in label:
        return poses.positions[0, :, 5]
    return poses.world[0, :, MAJOR_JOINTS.index("FootThumbL"), 2]


def _proportional(
    ax: Axes, grown: Mapping[str, Mapping[str, Growth]], key: str
) -> None:
    """A dotted line of growth in proportion to time, through step 10 of the first."""
    for growth in grown.values():
        found = growth.get(key)
        if found is not None and len(found.curve) >= 60:
            steps = np.array([10.0, 60.0])
            ax.plot(steps, found.curve[9] * steps / 10.0, ":", color="#5b6675", lw=1.2)
            return


def _highest(scores: Scores, key: str) -> float:
    """The largest error of the methods that stay in the picture, [mm]."""
    calm = [s for name, s in scores.items() if not name.startswith("constant")]
    return max(max(s.curve(key).values()) for s in calm or scores.values())


def _square(ax: Axes) -> None:
    """Equal axes with room, however straight the path."""
    ax.set_aspect("equal", adjustable="datalim")
    low, high = ax.get_ylim()
    if high - low < 0.2:
        middle = (low + high) / 2
        ax.update_datalim(
            [(ax.get_xlim()[0], middle - 0.1), (ax.get_xlim()[0], middle + 0.1)]
        )
        ax.autoscale_view()


def _finished(
    figure: Figure,
    names: Iterable[str],
    *,
    top: float,
    bottom: float = 0.0,
    truth: bool = False,
    bars: bool = False,
) -> bytes:
    """Add a legend above `top`, lay the panels out, and return the PNG."""
    from matplotlib.lines import Line2D

    width = 7.0 if bars else 2.2
    handles = [
        Line2D(
            [], [], color=agent_colour(n), lw=width, ls=_dashes(n),
            label=n.replace("_", " "),
        )
        for n in names
    ]  # fmt: skip
    if truth:
        handles.insert(0, Line2D([], [], color=TRUTH, lw=2.4, label="truth"))
    figure.legend(
        handles=handles, loc="upper center", ncols=len(handles), frameon=False,
        fontsize=8, handlelength=1.6, columnspacing=1.2,
    )  # fmt: skip
    figure.tight_layout(rect=(0, bottom, 1, top))
    return png_of(figure)


def _line(name: str) -> dict[str, Any]:
    return {
        "color": agent_colour(name),
        "lw": 2.4 if name == POLICY else 1.5,
        "ls": _dashes(name),
        "zorder": 5 if name == POLICY else 3,
    }


def _dashes(name: str) -> str:
    return "--" if name.endswith("_xyz") else "-"
