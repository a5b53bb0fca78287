"""Pictures of evaluations: paths on maps, families, and learning curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ambulo.common.figures import new_figure, png_of
from ambulo.common.metrics_file import read_evaluations, read_metrics
from ambulo.common.run_folder import RunFolder
from ambulo.configs.arrays import Floats
from ambulo.configs.errors import RunFolderError
from ambulo.envs.vr.levels.level import Level
from ambulo.evaluate.shared.result import AgentMetrics, measured_groups
from ambulo.evaluate.vr.scores import FAMILY_COLUMNS, EpisodeRecord, EpisodeRecords
from ambulo.viz.map_heights import are_covered
from ambulo.viz.map_moving import moving_handles
from ambulo.viz.map_plot import (
    GOAL,
    HOLE,
    OVERHEAD_MARK,
    START,
    draw_level_map,
    has_overhead,
)
from ambulo.viz.plots import agent_colour, clean, grouped_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer

PANELS = 9
"""Maps in one picture."""
_WIDEST, _TALLEST = 13.8, 4.2
"""Width of a picture and height of a map at most, [inches]."""
_SIDES, _GAP, _TITLE, _TICKS = 0.6, 0.15, 0.5, 0.3
"""Room between maps, to the right of the last, above and below each, [inches]."""
_KEY, _LINE = 1.35, 0.28
"""Width and height of an entry of a legend, [inches]."""
_COVERED: dict[str, Any] = {"ls": ":", "lw": 2.0, "alpha": 0.75}
"""Look of the parts of a path that are under a floor."""
_SHORT, _WIDE_KEY = 16, 2.4
"""Letters of an entry that is not longer, and the width of longer ones, [inches]."""


def first_of_each(records: EpisodeRecords, limit: int = PANELS) -> list[int]:
    """The first episode of each family, or of each level when there is one family."""
    families = [e.level.family for e in records.episodes]
    keys = families
    if len(set(families)) == 1:
        keys = [e.level.name for e in records.episodes]
    return sorted({key: i for i, key in reversed(list(enumerate(keys)))}.values())[
        :limit
    ]


def failures(records: EpisodeRecords) -> list[int]:
    """The first episodes that were not solved."""
    return [i for i, e in enumerate(records.episodes) if not e.success][:PANELS]


def longest_detour(records: EpisodeRecords) -> EpisodeRecord:
    """First episode of a family that is farthest from the straight line."""
    chosen = [records.episodes[i] for i in first_of_each(records)]

    def detour(episode: EpisodeRecord) -> float:
        level = episode.level
        if level.start is None or level.goal is None:
            return 0.0
        return episode.optimal - float(np.hypot(*(level.goal - level.start[:2])))

    return max(chosen, key=detour)


def draw_trajectories(
    agents: Mapping[str, EpisodeRecords], episodes: Sequence[int], goal_radius: float
) -> bytes:
    """PNG of maps with the paths of all `agents`, one panel an episode."""
    panels = [
        {n: r.episodes[episode] for n, r in agents.items()} for episode in episodes
    ]
    levels = [next(iter(played.values())).level for played in panels]
    boxes, width, height = map_layout([level.bounds for level in levels])
    handles = _legend_handles(agents, levels)
    longest = max(len(handle.get_label()) for handle in handles)
    columns = max(1, int(width / (_KEY if longest <= _SHORT else _WIDE_KEY)))
    legend = _LINE * -(-len(handles) // columns) + 0.1
    figure = new_figure((width, height + legend))
    scale = np.array([width, height + legend] * 2)
    for played, box in zip(panels, boxes, strict=True):
        left, bottom, wide, high = (np.array(box) / scale).tolist()
        _draw_panel(figure.add_axes((left, bottom, wide, high)), played, goal_radius)
    figure.legend(handles=handles, loc="upper center", ncols=columns, frameon=False)
    return png_of(figure)


def map_layout(
    bounds: Sequence[Floats],
) -> tuple[list[tuple[float, float, float, float]], float, float]:
    """Boxes for maps of floors `bounds` (4,) in rows that are as wide as each other.

    Returns:
        Left, bottom, width and height of each box, and the size of all together, [inches].
    """
    ratios = [float(np.clip((b[2] - b[0]) / (b[3] - b[1]), 0.5, 2.0)) for b in bounds]
    columns = 2 if len(ratios) in (2, 4) else 3
    rows = [ratios[k : k + columns] for k in range(0, len(ratios), columns)]
    heights = [min(_TALLEST, (_WIDEST - len(row) * _SIDES) / sum(row)) for row in rows]
    height = sum(heights) + len(rows) * (_TITLE + _TICKS)
    boxes, top = [], height
    for row, high in zip(rows, heights, strict=True):
        left, top = _SIDES - _GAP, top - _TITLE - high
        for ratio in row:
            boxes.append((left, top, ratio * high, high))
            left += ratio * high + _SIDES
        top -= _TICKS
    return boxes, max(box[0] + box[2] for box in boxes) + _GAP, height


def _legend_handles(agents: Iterable[str], levels: Sequence[Level]) -> list[Any]:
    """Legend of the colours and marks on maps of `levels`."""
    from matplotlib.lines import Line2D

    marks: dict[str, dict[str, Any]] = {
        "start": {"color": START, "marker": "o", "ms": 7},
        "goal": {"color": GOAL, "marker": "o", "ms": 12, "alpha": 0.7},
        "not solved": {"color": "#d32f2f", "marker": "X", "ms": 9},
    }
    if any(level.heights for level in levels):
        marks["under a floor"] = {**_COVERED, "color": "#444444"}
    if any(len(level.holes) for level in levels):
        marks["hole"] = {"color": HOLE, "marker": "s", "ms": 10}
    if any(map(has_overhead, levels)):
        marks["overhead"] = OVERHEAD_MARK
    return (
        [
            Line2D([], [], color=agent_colour(name), ls=_style(name), lw=2, label=name)
            for name in agents
        ]
        + [
            Line2D([], [], **{"ls": "", "mew": 0, "label": label, **look})
            for label, look in marks.items()
        ]
        + moving_handles(levels)
    )


def draw_families(records: Mapping[str, EpisodeRecords]) -> bytes:
    """PNG of bars: success and SPL of every agent by family."""
    by_family = {name: own.by_family() for name, own in records.items()}
    scores = measured_groups(FAMILY_COLUMNS, by_family)
    families = list(scores)
    width = max(6.0, 1.25 * len(families) + 1.5, 1.2 * len(records) + 1.5)
    figure = new_figure((width, 5.6))
    for row, (key, label) in enumerate((("success_rate", "success"), ("spl", "SPL"))):
        ax = figure.add_subplot(2, 1, row + 1)
        values = {
            name: [scores[family][name][key].value or 0.0 for family in families]
            for name in records
        }
        grouped_bars(ax, families, values)
        for bars, (name, heights) in zip(ax.containers, values.items(), strict=True):
            zeros = ["" if height > 0.0 else "0" for height in heights]
            ax.bar_label(
                cast("BarContainer", bars), zeros, padding=1, fontsize=7,
                color=agent_colour(name),
            )  # fmt: skip
        ax.grid(axis="x", visible=False)
        ax.set_axisbelow(True)
        ax.margins(x=0.01)
        ax.set_ylim(0, 1.02)
        ax.set_ylabel(label)
        if row == 0:
            ax.legend(
                ncols=len(records), frameon=False, loc="lower center",
                bbox_to_anchor=(0.5, 1.0),
            )  # fmt: skip
    figure.tight_layout()
    return png_of(figure)


def draw_learning_curve(
    run: RunFolder, baselines: Mapping[str, AgentMetrics] | None = None
) -> bytes | None:
    """PNG of the training that a model comes from; None when nothing was logged.

    The success rate of walking straight, if it is among `baselines`, is a dashed line.
    """
    logged = read_metrics(run.metrics)
    evaluations = _evaluations(run.evaluations)
    if len(logged.get("timesteps", ())) < 2 and not evaluations:
        return None
    figure = new_figure((9.0, 3.6))
    left, right = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2)
    steps = logged.get("timesteps", np.zeros(0))
    for ax, key in ((left, "rollout/success_rate"), (right, "rollout/ep_rew_mean")):
        if key in logged:
            _curve(ax, steps, logged[key], logged.get("rollout/episodes"))
    at = [row["timesteps"] for row in evaluations]
    for ax, key, colour, label in (
        (left, "success_rate", "#c2185b", "validation success"),
        (left, "spl", "#00796b", "validation SPL"),
        (right, "return_mean", "#c2185b", "validation"),
    ):
        values = [row.get(key, np.nan) for row in evaluations]
        if at:
            ax.plot(at, values, "o-", ms=3, color=colour, label=label)
    if baselines and "straight" in baselines:
        rate, look = baselines["straight"]["success_rate"], agent_colour("straight")
        left.axhline(rate.number, color=look, ls="--", lw=1.2, label="walking straight")
    left.set_ylim(-0.02, 1.02)
    left.set_ylabel("success rate, SPL")
    right.set_ylabel("return")
    for ax in (left, right):
        ax.set_xlabel("environment steps")
        clean(ax)
        ax.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    return png_of(figure)


def _draw_panel(
    ax: Axes, played: Mapping[str, EpisodeRecord], goal_radius: float
) -> None:
    """One map with the paths of all agents; a cross where an episode failed."""
    level = next(iter(played.values())).level
    draw_level_map(ax, level, goal_radius)
    ax.set_xlabel("")
    ax.set_ylabel("")
    ax.tick_params(labelsize=7, length=2)
    lines = []
    for z, (name, episode) in enumerate(played.items()):
        _draw_path(ax, name, episode, zorder=4 + 0.1 * (len(played) - z))
        lines.append(f"{name} {_outcome(episode)}")
    # A name is text, also with dollar signs in it.
    title = f"{level.name}\n" + ", ".join(lines[:2])
    ax.set_title(title, fontsize=8, parse_math=False)
    if level.heights and level.start is not None and level.goal_place is not None:
        _tell_height(ax, np.append(level.start[:2], level.start_height), START)
        _tell_height(ax, level.goal_place, "#17692c")


def _draw_path(ax: Axes, name: str, episode: EpisodeRecord, zorder: float) -> None:
    """The path of one agent, other where it is under a floor; a cross where it failed."""
    places, level = episode.trace.position, episode.level
    look: dict[str, Any] = {"color": agent_colour(name), "zorder": zorder}
    covered = np.zeros(len(places), np.bool_)
    if level.heights:
        covered = are_covered(level, places)
        x, y = np.where(covered[:, None], places[:, :2], np.nan).T
        ax.plot(x, y, **look, **_COVERED)
    covered[1:-1] &= covered[2:] & covered[:-2]  # so that its parts meet
    x, y = np.where(covered[:, None], np.nan, places[:, :2]).T
    ax.plot(x, y, **look, ls=_style(name), lw=1.8, solid_capstyle="round")
    if not episode.success:
        end = places[-1]
        ax.plot(end[0], end[1], "X", color="#d32f2f", ms=8, mec="white", zorder=6)
        if level.heights:
            _tell_height(ax, end, "#d32f2f", below=True)


def _tell_height(ax: Axes, place: Floats, colour: str, *, below: bool = False) -> None:
    """The height of a `place` (3,) to the right of it, above or `below`."""
    from matplotlib.patheffects import withStroke

    ax.annotate(
        f"{abs(place[2]) if abs(place[2]) < 0.05 else place[2]:.1f} m",
        (float(place[0]), float(place[1])), (5, -11 if below else 4),
        textcoords="offset points", fontsize=7, color=colour, zorder=7,
        path_effects=[withStroke(linewidth=2, foreground="white")],
    )  # fmt: skip


def _outcome(episode: EpisodeRecord) -> str:
    if episode.success:
        n = episode.collisions
        bumps = f" ({n} bump{'s' * (n > 1)})" if n else ""
        return f"{episode.time:.1f} s{bumps}"
    return "fell" if episode.fell else "timed out"


def _curve(ax: Axes, steps: Any, values: Any, episodes: Any) -> None:
    """Draw means of roll-outs, and their running mean over `episodes`."""
    known = np.isfinite(values)
    steps, values = steps[known], values[known]
    if len(values) == 0:
        return
    weights = np.ones(len(values)) if episodes is None else episodes[known]
    window = max(1, min(len(values) // 12, 12), len(values) // 50)
    total, count = np.cumsum(values * weights), np.cumsum(weights)
    total[window:] -= total[:-window].copy()
    count[window:] -= count[:-window].copy()
    ax.plot(steps, values, color="#9db4d0", lw=0.8, alpha=0.6)
    ax.plot(steps, total / count, color="#2f62c9", lw=1.8, label="training")


def _evaluations(file: Path) -> list[dict[str, Any]]:
    """Rows of `evaluations.json`; none when it is missing or not such a list."""
    try:
        return read_evaluations(file)
    except RunFolderError:
        return []


def _style(name: str) -> str:
    return "--" if name == "oracle" else "-"
