"""Films of agents on maps of levels, seen from above; they need no graphics driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ambulo.common.figures import new_figure, pixels_of
from ambulo.envs.vr.contract import BODY_RADIUS
from ambulo.evaluate.vr.figures import first_of_each
from ambulo.evaluate.vr.scores import EpisodeRecord, EpisodeRecords
from ambulo.viz.map_plot import draw_level_map
from ambulo.viz.plots import agent_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ambulo.envs.offscreen import Frame

MAX_SECONDS = 8.0
"""Length of a film at most, without its last picture; longer episodes run faster, [s]."""
LAST_HOLD = 1.0
"""How long the last picture stays, [s]."""
FPS = 12.0
"""Frames per second."""
PANELS = 3
"""Levels side by side."""


def write_map_film(
    agents: Mapping[str, EpisodeRecords], goal_radius: float, path: Path, title: str
) -> None:
    """Film `agents` in the same levels, until the first of them is done everywhere.

    Args:
        agents: Episodes by agent; all agents have the same levels.
        goal_radius: Radius of the goals, [m].
        path: .mp4 or .gif file.
        title: Text above the maps; the speed is added.

    Raises:
        RenderError: The film cannot be encoded.
    """
    from ambulo.envs.vr.world.render import write_video

    episodes = shown_episodes(agents)
    played = [{name: r.episodes[i] for name, r in agents.items()} for i in episodes]
    write_video(_frames(played, goal_radius, title), path, fps=FPS)


def shown_episodes(agents: Mapping[str, EpisodeRecords]) -> list[int]:
    """Return the first episode of each family in which walking straight fails.

    Whether the other agents solve it does not matter. Without such episodes: the first of
    each family.
    """
    if "straight" in agents:
        straight = agents["straight"].episodes
        failed: dict[str, int] = {}
        for i, episode in enumerate(straight):
            if not episode.success:
                failed.setdefault(episode.level.family, i)
        if failed:
            return list(failed.values())[:PANELS]
    return first_of_each(next(iter(agents.values())), PANELS)


def _frames(
    played: Sequence[Mapping[str, EpisodeRecord]], goal_radius: float, title: str
) -> Iterator[Frame]:
    """Yield the pictures; what does not move is drawn once."""
    end = max(next(iter(panel.values())).time for panel in played)
    speed = max(1.0, end / MAX_SECONDS)
    figure = new_figure((4.4 * len(played), 5.0))
    panels = []
    for column, agents in enumerate(played, start=1):
        ax = figure.add_subplot(1, len(played), column)
        draw_level_map(ax, next(iter(agents.values())).level, goal_radius)
        ax.set_axis_off()
        panels.append(
            [_Walker(ax, name, one, k) for k, (name, one) in enumerate(agents.items())]
        )
    text = f"{title}; {speed:.2g} x real time"
    figure.suptitle(text, fontsize=11, parse_math=False)
    figure.subplots_adjust(0.01, 0.13, 0.99, 0.92, 0.04)
    canvas: Any = figure.canvas  # the methods of its class have no types
    canvas.draw()
    still = canvas.copy_from_bbox(figure.bbox)
    moments = np.arange(0.0, end, speed / FPS)
    for moment in [*moments, *([end] * round(LAST_HOLD * FPS))]:
        canvas.restore_region(still)
        for walker in (walker for panel in panels for walker in panel):
            walker.draw(moment)
        yield pixels_of(figure)


class _Walker:
    """One agent on one map: its body, its path so far, and how it is doing."""

    def __init__(self, ax: Axes, name: str, episode: EpisodeRecord, row: int) -> None:
        """Prepare the moving parts; `row` is that of its text below the map."""
        from matplotlib.patches import Circle

        self._ax, self._name, self._episode = ax, name, episode
        trace, colour = episode.trace, agent_colour(name)
        self._times = trace.dt * np.arange(len(trace.yaw))
        (self._path,) = ax.plot([], [], color=colour, lw=2, zorder=4, animated=True)
        (self._gaze,) = ax.plot([], [], color=colour, lw=2, zorder=6, animated=True)
        self._body = Circle(
            (0.0, 0.0), BODY_RADIUS, color=colour, zorder=5, animated=True
        )
        ax.add_patch(self._body)
        self._text = ax.text(
            0.5, -0.03 - 0.055 * row, "", color=colour, fontsize=11, ha="center",
            va="top", transform=ax.transAxes, animated=True,
        )  # fmt: skip

    def draw(self, moment: float) -> None:
        """Draw the agent at `moment` since the start of the episode, [s]."""
        trace, times = self._episode.trace, self._times
        columns = (*trace.position[:, :2].T, np.unwrap(trace.yaw))
        x, y, yaw = (float(np.interp(moment, times, column)) for column in columns)
        past = trace.position[times <= moment, :2]
        self._path.set_data([*past[:, 0], x], [*past[:, 1], y])
        self._body.set_center((x, y))
        ahead = 2.2 * BODY_RADIUS
        self._gaze.set_data([x, x + ahead * np.cos(yaw)], [y, y + ahead * np.sin(yaw)])
        self._text.set_text(f"{self._name}: {self._state(moment)}")
        for part in (self._path, self._body, self._gaze, self._text):
            self._ax.draw_artist(part)

    def _state(self, moment: float) -> str:
        episode = self._episode
        if moment < episode.time - 1e-6:
            return f"walking, {moment:.1f} s"
        if episode.success:
            return f"at the goal after {episode.time:.1f} s"
        return f"fell after {episode.time:.1f} s" if episode.fell else "out of time"
