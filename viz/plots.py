"""Shared parts of plots: colours of agents, axes, and grouped bars."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ambulo.configs.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {
    "policy": "#c2185b",
    "oracle": "#14213d",
    "planner": "#6d4c41",
    "dwa": "#00796b",
    "potential": "#b8860b",
    "straight": "#5c6bc0",
    "random": "#8d8d8d",
    "stand": "#c4c4c4",
    "law": "#2f62c9",
    "open_loop": "#8d8d8d",
    "zero": "#00796b",
    "zero_velocity": "#8d8d8d",
    "constant_velocity": "#00796b",
    "constant_velocity_xyz": "#66bb9e",
    "damped_velocity": "#6d4c41",
    "ridge": "#2f62c9",
    "ridge_xyz": "#8ab0e8",
    "guess": "#c9d3df",
}
"""Colour of each agent."""
TRUTH = "#14213d"
"""Colour of the true motion and of limits."""
NORMAL = "#c9d3df"
"""Colour of people's normal range."""
SOFT = "#8d8d8d"
"""Colour of guide lines."""
_DIAL = re.compile(r" c=(\d*\.?\d+(?:e-\d+)?)$")
_FAST, _CALM = (230, 81, 0), (21, 101, 192)
"""Red, green and blue of an agent at both ends of its comfort dial."""


def agent_colour(name: str) -> str:
    """Return the colour of an agent, also of one that is not in `COLOURS`.

    One at a comfort dial, "policy c=0.5", has a colour between those of both ends.
    """
    dial = _DIAL.search(name)
    if dial is not None:
        part = min(float(dial[1]), 1.0)
        mixed = np.array(_FAST) + part * (np.array(_CALM) - np.array(_FAST))
        return "#" + "".join(f"{round(channel):02x}" for channel in mixed.tolist())
    return COLOURS.get(name) or f"C{zlib.crc32(name.encode()) % 10}"


def clean(ax: Axes) -> None:
    """Give axes a pale grid and no frame at the top and on the right."""
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)


def grouped_bars(
    ax: Axes,
    groups: Sequence[str],
    rows: Mapping[str, Sequence[float] | Floats],
    **ticks: Any,
) -> None:
    """Draw a group of bars for each of `groups`, one bar per agent.

    Args:
        ax: Axes to draw on.
        groups: Labels below the groups.
        rows: Height of each agent's bars, one per group.
        **ticks: Style of the labels, as of `Axes.set_xticks`.
    """
    width = 0.84 / len(rows)
    for k, (name, values) in enumerate(rows.items()):
        at = np.arange(len(groups)) + (k - (len(rows) - 1) / 2) * width
        ax.bar(at, values, 0.92 * width, color=agent_colour(name), label=name)
    ax.set_xticks(range(len(groups)), groups, parse_math=False, **ticks)
    clean(ax)
