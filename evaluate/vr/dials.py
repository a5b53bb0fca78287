"""Evaluations of agents with a comfort dial: where the dial is, and what it trades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ambulo.common.figures import new_figure, png_of
from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import NavigationConfig
from ambulo.evaluate.shared.choices import chosen_numbers
from ambulo.evaluate.shared.result import POLICY, AgentMetrics, is_policy
from ambulo.viz.plots import agent_colour, clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CURVES = {
    "success_rate": "success", "spl": "SPL", "comfort_index": "comfort index",
    "comfort_score": "comfort score",
}  # fmt: skip
"""Scores that are drawn against the dial, with their labels."""


def dials_of(text: str | None, config: NavigationConfig) -> tuple[float, ...]:
    """The dials that `--comfort` names for an agent of `config`; empty: it has no dial.

    Raises:
        ConfigError: no numbers in [0, 1], one twice, or an agent without a dial.
    """
    if not config.observations.comfort:
        if text is not None:
            raise ConfigError(
                "--comfort: the agent has no comfort dial (it was trained with "
                "observations.comfort = false)"
            )
        return ()
    if text is None:
        return (config.usual_comfort,)
    dials = tuple(chosen_numbers("--comfort", text, 1.0))
    if len({f"{dial:g}" for dial in dials}) < len(dials):
        raise ConfigError(f"--comfort {text}: names a dial twice")
    return dials


def at_dials(
    config: NavigationConfig, dials: Sequence[float]
) -> dict[str, NavigationConfig]:
    """`config` at each of `dials`, by what is added to the name of the agent there."""
    if len(dials) < 2:
        return {"": config.at_comfort(dials[0]) if dials else config}
    return {f" c={dial:g}": config.at_comfort(dial) for dial in dials}


def draw_dials(results: Mapping[str, AgentMetrics]) -> bytes:
    """PNG of speed against comfort, and of scores against the dial.

    Args:
        results: scores of all agents; those of the policy are at two dials or more.
    """
    figure = new_figure((10.0, 4.2))
    _draw_trade_off(figure.add_subplot(1, 2, 1), results)
    _draw_scores(figure.add_subplot(1, 2, 2), results)
    figure.tight_layout()
    return png_of(figure)


def _draw_trade_off(ax: Axes, results: Mapping[str, AgentMetrics]) -> None:
    """Mean time against the comfort index: the policy's curve, the planners' points."""
    dials = [name for name in results if is_policy(name)]
    times = [results[name]["mean_time_s"].number for name in dials]
    comfort = [results[name]["comfort_index"].number for name in dials]
    ax.plot(times, comfort, "o-", color=agent_colour(POLICY), label=POLICY)
    for name, time, index in zip(dials, times, comfort, strict=True):
        ax.annotate(
            name.removeprefix(POLICY).strip(), (time, index), xytext=(5, -10),
            textcoords="offset points", fontsize=8,
        )  # fmt: skip
    for name, result in results.items():
        if not is_policy(name) and result["success_rate"].number > 0.0:
            ax.plot(
                result["mean_time_s"].number, result["comfort_index"].number, "D", ms=5,
                color=agent_colour(name), label=name,
            )  # fmt: skip
    ax.set_xlabel("mean time of an episode [s]")
    ax.set_ylabel("comfort index")
    ax.margins(0.12)
    clean(ax)
    ax.legend(frameon=False, fontsize=8)


def _draw_scores(ax: Axes, results: Mapping[str, AgentMetrics]) -> None:
    """Scores of the policy against its dial."""
    rows = {
        float(name.rpartition("=")[2]): result
        for name, result in results.items()
        if is_policy(name)
    }
    dials = sorted(rows)
    for key, label in _CURVES.items():
        values = [rows[dial][key].number for dial in dials]
        ax.plot(dials, values, "o-", ms=4, label=label)
    ax.set_xlabel("comfort dial c")
    ax.set_ylim(-0.02, 1.02)
    clean(ax)
    ax.legend(frameon=False, fontsize=8, loc="lower left")
