"""Pictures of how bodies walk: the gait cycle beside normal gait, pushes, joint errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ambulo.common.figures import new_figure, png_of
from ambulo.evaluate.locomotion.gait_cycle import JOINTS, PERCENT, gait_norms
from ambulo.evaluate.locomotion.gait_summary import SIDES, GaitSummary
from ambulo.evaluate.locomotion.pushes import PushRecovery
from ambulo.evaluate.locomotion.scores import LocomotionScores
from ambulo.evaluate.shared.result import AgentMetrics
from ambulo.viz.plots import NORMAL, SOFT, TRUTH, agent_colour, clean, grouped_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLES = {
    "hip": "hip flexion [deg]",
    "knee": "knee flexion [deg]",
    "ankle": "ankle dorsiflexion [deg]",
}
"""Title of the panel of each joint."""
_STYLES = {"left": "-", "right": (0, (4, 2))}


def draw_gait(gait: GaitSummary, name: str) -> bytes:
    """PNG of joint angles and vertical force over the gait cycle, beside normal gait."""
    figure = new_figure((10.0, 6.6))
    for panel, joint in enumerate(JOINTS, start=1):
        _draw_joint(figure.add_subplot(2, 2, panel), gait, joint, name)
    _draw_force(figure.add_subplot(2, 2, 4), gait, name)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=len(labels), frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    return png_of(figure)


def draw_pushes(found: Mapping[str, PushRecovery]) -> bytes:
    """PNG of survival over the impulse of a push, with 95 % intervals."""
    figure = new_figure((6.4, 4.0))
    ax = figure.add_subplot()
    for name, pushes in found.items():
        colour = agent_colour(name)
        low, high = np.array(pushes.interval).T
        ax.fill_between(pushes.impulses, low, high, color=colour, alpha=0.15, lw=0)
        ax.plot(pushes.impulses, pushes.survival, "o-", ms=4, color=colour, label=name)
    ax.axhline(0.9, color=TRUTH, lw=0.8, ls=":")
    first = next(iter(found.values()))
    ax.set_title(f"{first.episodes} pushes of 0.2 s at the pelvis, {first.mass:.0f} kg")
    ax.set_xlabel("impulse [N s]")
    ax.set_ylabel("on its feet 4 s later")
    ax.set_ylim(-0.02, 1.04)
    ax.legend(frameon=False)
    clean(ax)
    figure.tight_layout()
    return png_of(figure)


def draw_perturbations(
    rows: Mapping[str, Mapping[str, AgentMetrics]], rate: str, meaning: str
) -> bytes:
    """PNG of a rate under each perturbation, with 95 % intervals.

    Args:
        rows: Metrics by perturbation and agent.
        rate: Name of the metric.
        meaning: Label of its axis.
    """
    figure = new_figure((6.8, 1.2 + 0.3 * len(rows)))
    ax = figure.add_subplot()
    agents = list(next(iter(rows.values())))
    for k, agent in enumerate(agents):
        below = 0.5 * (k - (len(agents) - 1) / 2) / len(agents)
        for i, scores in enumerate(rows.values()):
            seen = scores[agent][rate]
            if seen.value is None or seen.low is None or seen.high is None:
                ax.text(0.0, i + below, "-", va="center", color=SOFT)
                continue
            ends = [[seen.value - seen.low], [seen.high - seen.value]]
            ax.errorbar(
                seen.value, i + below, xerr=ends, fmt="o", ms=4, lw=1.0,
                color=agent_colour(agent), label=None if i else agent,
            )  # fmt: skip
    ax.set_yticks(range(len(rows)), list(rows))
    ax.invert_yaxis()
    ax.set_xlim(-0.03, 1.03)
    ax.set_xlabel(meaning)
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
    clean(ax)
    figure.tight_layout()
    return png_of(figure)


def draw_joint_errors(scores: Mapping[str, LocomotionScores]) -> bytes:
    """PNG of bars: the tracking error of each joint, in angle and place."""
    joints = list(next(iter(scores.values())).joints)
    figure = new_figure((max(7.0, 0.42 * len(joints) + 1.5), 5.6))
    for row, label in enumerate(("angle [deg]", "place from the root [cm]")):
        ax = figure.add_subplot(2, 1, row + 1)
        values = {
            name: [s.joints[joint][row] for joint in joints]
            for name, s in scores.items()
        }
        grouped_bars(ax, joints, values, rotation=60, ha="right", fontsize=8)
        ax.set_ylabel(label)
        if row == 0:
            ax.legend(ncols=len(scores), frameon=False)
    figure.tight_layout()
    return png_of(figure)


def draw_normal(ax: Axes, joint: str) -> None:
    """Draw the normal band of a joint's angle over the gait cycle, one and two sd wide."""
    mean, sd = gait_norms().angles[joint].at(PERCENT)
    for count, alpha, label in ((2, 0.5, "normal ± 2 sd"), (1, 1.0, "")):
        ax.fill_between(
            PERCENT, mean - count * sd, mean + count * sd, color=NORMAL, lw=0,
            alpha=alpha, label=label,
        )  # fmt: skip
    ax.set_xlim(0, 100)


def _draw_joint(ax: Axes, gait: GaitSummary, joint: str, name: str) -> None:
    """One angle: both sides, the normal band, and the mean moved onto its level."""
    draw_normal(ax, joint)
    colour = agent_colour(name)
    for side in SIDES:
        ax.plot(
            PERCENT, gait.side_curves[f"{side} {joint}"], color=colour,
            ls=_STYLES[side], lw=1.6, label=f"{name}, {side}",
        )  # fmt: skip
    row = gait.likeness[joint]
    moved = gait.curves[joint] - row.offset
    ax.plot(PERCENT, moved, color=TRUTH, lw=0.9, ls=":", label="mean, offset taken off")
    ax.set_title(
        f"{TITLES[joint]}: off by {row.rms:.0f}, without offset {row.rms_shape:.0f} (rms)",
        fontsize=9,
    )
    _cycle(ax, gait)


def _draw_force(ax: Axes, gait: GaitSummary, name: str) -> None:
    norms = gait_norms()
    colour = agent_colour(name)
    low, high = gait.force - gait.force_spread, gait.force + gait.force_spread
    ax.fill_between(PERCENT, low, high, color=colour, alpha=0.15, lw=0)
    ax.plot(PERCENT, gait.force, color=colour, lw=1.6)
    ax.plot(norms.force_percent, norms.force, "D", ms=6, color=TRUTH, mfc=NORMAL)
    for place, value, text in zip(
        norms.force_percent, norms.force, norms.force_names, strict=True
    ):
        ax.annotate(
            text, (place, value), (5, 5), textcoords="offset points", fontsize=7,
        )  # fmt: skip
    ax.set_title("vertical ground force [body weight], both feet ± sd", fontsize=9)
    ax.set_ylim(bottom=min(-0.05, float(np.nanmin(low))))
    _cycle(ax, gait)


def _cycle(ax: Axes, gait: GaitSummary) -> None:
    ax.axvline(100.0 * gait.stance_share, color=SOFT, lw=0.8)
    ax.set_xlim(0, 100)
    ax.set_xlabel("gait cycle [%]", fontsize=8)
    clean(ax)
