"""Pictures and films of a gait network: curves by parameter, errors, recovery, walks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ambulo.common.figures import new_figure, png_of
from ambulo.configs.arrays import Floats
from ambulo.evaluate.locomotion.figures import TITLES, draw_normal
from ambulo.evaluate.locomotion.gait_cycle import PERCENT
from ambulo.evaluate.shared.result import POLICY
from ambulo.motion.gaits.angles import ANGLES
from ambulo.viz.plots import SOFT, TRUTH, clean, grouped_bars

if TYPE_CHECKING:
    from ambulo.evaluate.gait.recovery import Recovery
from pathlib import Path

from ambulo.configs.errors import RenderError
from ambulo.evaluate.gait.network_results import (
    HeldOut,
    Walk,
    motion_of_frames,
    predicted,
)
from ambulo.evaluate.gait.recovery import Recovery
from ambulo.evaluate.shared.result import Picture
from ambulo.policies.agents.gait_network import GaitNetwork

COLOURS = ("#0b3c6f", "#2f7fc1", "#8d8d8d", "#e07b39", "#a3200d")
"""From the least value to the largest."""


def draw_curves(rows: Mapping[str, Mapping[str, Floats]]) -> bytes:
    """PNG of the angles over the cycle: a row for each parameter, a line for each value.

    Args:
        rows: By parameter and label of the value, curves (3, 101), [deg], as `ANGLES`.
    """
    figure = new_figure((11.5, 3.3 * len(rows)))
    for line, (parameter, curves) in enumerate(rows.items()):
        for column, joint in enumerate(ANGLES):
            ax = figure.add_subplot(len(rows), 3, 3 * line + column + 1)
            draw_normal(ax, joint)
            colours = _colours(len(curves))
            for colour, (label, curve) in zip(colours, curves.items(), strict=True):
                ax.plot(PERCENT, curve[column], color=colour, lw=1.6, label=label)
            ax.set_title(f"{TITLES[joint]}, by {parameter}", fontsize=9)
            ax.set_xlabel("gait cycle from strike to strike [%]", fontsize=8)
            clean(ax)
            if column == 0:
                ax.legend(fontsize=7, frameon=False)
    figure.tight_layout()
    return png_of(figure)


def draw_error_places(errors: Floats, names: Sequence[str]) -> bytes:
    """PNG of the mean error over the cycle of each joint, [deg]. Shapes (30, J), (J,)."""
    figure = new_figure((6.4, 3.6))
    ax = figure.add_subplot()
    places = np.arange(len(errors)) / len(errors) * 100.0
    for name, column, colour in zip(names, errors.T, COLOURS[::2], strict=True):
        ax.plot(places, column, "o-", ms=3, color=colour, label=name)
    ax.set_xlabel("phase of the network's cycle [%]")
    ax.set_ylabel("mean error [deg]")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    clean(ax)
    figure.tight_layout()
    return png_of(figure)


def draw_scatter(truth: Floats, said: Floats, names: Sequence[str], unit: str) -> bytes:
    """PNG of what is said against what is true; arrays (N, K), one panel a column."""
    figure = new_figure((3.4 * len(names), 3.4))
    for k, name in enumerate(names):
        ax = figure.add_subplot(1, len(names), k + 1)
        both = np.concatenate([truth[:, k], said[:, k]])
        low, high = both.min(), both.max()
        ax.plot([low, high], [low, high], color=SOFT, lw=0.8)
        ax.plot(truth[:, k], said[:, k], ".", ms=4, color="#2f62c9", alpha=0.6)
        ax.set_title(name, fontsize=9)
        ax.set_xlabel(f"true {unit}", fontsize=8)
        if k == 0:
            ax.set_ylabel(f"generated {unit}", fontsize=8)
        clean(ax)
    figure.tight_layout()
    return png_of(figure)


def draw_recovery(found: Recovery) -> bytes:
    """PNG of bars: the error of each parameter found again, over its range."""
    shown = [k for k in range(len(found.names)) if not found.given[k]]
    figure = new_figure((max(6.4, 0.5 * len(shown) + 2.0), 4.2))
    ax = figure.add_subplot()
    names = [found.names[k] for k in shown]
    errors = {"guess": found.guess, POLICY: found.error}
    bars = {name: 100.0 * values[shown] for name, values in errors.items()}
    grouped_bars(ax, names, bars, rotation=50, ha="right", fontsize=8)
    ax.axhline(5.0, color=TRUTH, lw=0.8, ls=":")
    ax.set_ylabel("mean error [% of the range]")
    ax.legend(frameon=False)
    figure.tight_layout()
    return png_of(figure)


def _colours(count: int) -> list[str]:
    places = np.linspace(0, len(COLOURS) - 1, count).round().astype(int)
    return [COLOURS[k] for k in places]


COMPARISON = "source_and_generated"
"""Name of the film of a held-out gait beside what is generated for it."""


def network_pictures(
    walks: Sequence[Walk], found: HeldOut | None, recovery: Recovery | None
) -> list[Picture]:
    """Draw curves by parameter and, of held-out gaits, errors and estimates."""
    curves: dict[str, dict[str, Floats]] = {}
    for walk in walks:
        label = f"{walk.value:.2f}: {walk.facts.speed:.2f} m/s"
        curves.setdefault(walk.parameter, {})[label] = walk.curves
    caption = "Angles over the gait cycle, by stride and by cadence"
    drawn = [Picture("curves.png", caption, draw_curves(curves))]
    if found is not None:
        errors = draw_error_places(found.sagittal, ANGLES)
        speeds = draw_scatter(
            found.speeds[:, :1], found.speeds[:, 1:], ("forward speed",), "[m/s]"
        )
        ranges = draw_scatter(
            found.ranges[..., 0], found.ranges[..., 1], ANGLES, "range [deg]"
        )
        drawn += [
            Picture("errors.png", "Error of the flexion over the cycle", errors),
            Picture("speeds.png", "Forward speed of held-out gaits", speeds),
            Picture("ranges.png", "Range of the angles of held-out gaits", ranges),
        ]
    if recovery:
        bars = draw_recovery(recovery)
        drawn.append(Picture("recovery.png", "Parameters estimated from motions", bars))
    return drawn


def write_network_film(path: Path, network: GaitNetwork, found: HeldOut | None) -> None:
    """Film generated walks, or a held-out gait of median error beside its source."""
    from ambulo.viz.gait_films import write_comparison, write_varied

    if path.stem != COMPARISON:
        write_varied(path, network)
        return
    if found is None:
        raise RenderError("no held-out gaits to compare with")
    row = int(found.order[len(found.order) // 2])
    params = found.gaits.params[row]
    pair = {
        "source": found.gaits.motions[row].astype(np.float64),
        "generated": predicted(network, params),
    }
    write_comparison(
        path,
        [motion_of_frames(network.space, params, m, name) for name, m in pair.items()],
    )
