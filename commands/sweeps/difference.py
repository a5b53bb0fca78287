"""Whether a difference between two groups of runs is real, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ambulo.commands.sweeps.scores import RunScores, common_tasks, matrix_of
from ambulo.commands.sweeps.statistics import (
    Interval,
    bootstrap,
    interquartile_mean,
    interval,
    least_p,
    permutation_p,
    probability_of_improvement,
)
from ambulo.configs.trainings import Score
from ambulo.evaluate.shared.intervals import Z95, bootstrap_interval

LEVEL = 0.05
"""Largest p-value of a difference that is called real."""


@dataclass(frozen=True)
class Group:
    """Runs of one kind that differ in their seeds alone."""

    label: str
    """Its name in tables."""
    runs: Sequence[RunScores]
    """Its finished runs."""


@dataclass(frozen=True)
class Difference:
    """How the runs of one group compare with those of another."""

    first: str
    second: str
    seeds: tuple[int, int]
    """Runs of the first and of the second group."""
    difference: float
    """Interquartile mean of the first group minus that of the second."""
    difference_ci95: Interval | None
    """Its bootstrap interval; None with one run in a group."""
    probability: float
    """Probability that a run of the first group is better than one of the second."""
    probability_ci95: Interval | None
    """Its bootstrap interval; None with one run in a group."""
    p: float
    """p-value of a permutation test of the means."""
    least_p: float
    """The smallest that these numbers of runs can give."""
    is_real: bool
    """Whether the interval excludes 0 and `p` is at most 0.05."""
    sentence: str
    """All that in words."""


def difference_of(first: Group, second: Group, score: Score) -> Difference:
    """Compare two groups in the tasks that all their runs have.

    Raises:
        RunFolderError: they have no task in common.
    """
    tasks = common_tasks([*first.runs, *second.runs])
    x, y = matrix_of(list(first.runs), tasks), matrix_of(list(second.runs), tasks)
    seeds = (len(x), len(y))
    gap = float(interquartile_mean(x) - interquartile_mean(y))
    sign = score.sign
    probability = float(probability_of_improvement(sign * x, sign * y))
    ends = chances = None
    if min(seeds) > 1:
        ends = interval(
            bootstrap(lambda a, b: interquartile_mean(a) - interquartile_mean(b), x, y)
        )
        chances = interval(bootstrap(probability_of_improvement, sign * x, sign * y))
    p, least = permutation_p(x, y), least_p(*seeds)
    real = ends is not None and p <= LEVEL and not ends[0] <= 0.0 <= ends[1]
    numbers = _numbers(score, gap, ends, probability, chances, p, seeds)
    if least > LEVEL:
        text = _too_few(first, second, score, least, numbers)
    elif real:
        ahead, behind = (first, second) if sign * gap > 0 else (second, first)
        text = f"{ahead.label} is better than {behind.label}: {numbers}."
    else:
        text = (
            f"No difference between {first.label} and {second.label} can be told from "
            f"chance: {numbers}."
        )
    return Difference(
        first.label, second.label, seeds, gap, ends, probability, chances, p, least,
        real, text,
    )  # fmt: skip


def _numbers(
    score: Score,
    gap: float,
    ends: Interval | None,
    probability: float,
    chances: Interval | None,
    p: float,
    seeds: tuple[int, int],
) -> str:
    """Return the numbers of a comparison as text."""
    within = "" if ends is None else f" [{ends[0]:+.3g}, {ends[1]:+.3g}]"
    about = "" if chances is None else f" [{chances[0]:.2f}, {chances[1]:.2f}]"
    return (
        f"{score.label} {gap:+.3g}{within} (first minus second), probability of "
        f"improvement {probability:.2f}{about}, p = {p:.2g}, {seeds[0]} and {seeds[1]} "
        "seeds"
    )


def _too_few(
    first: Group, second: Group, score: Score, least: float, numbers: str
) -> str:
    """Return what can be said of too few seeds."""
    names = f"{first.label} and {second.label}"
    if min(len(first.runs), len(second.runs)) > 1:
        return (
            f"These seeds are too few to tell {names} apart (the smallest possible p is "
            f"{least:.2g}; 4 each are needed): {numbers}."
        )
    text = f"One seed cannot tell {names} apart, 4 each are needed: {numbers}."
    if len(first.runs) == len(second.runs) == 1:
        text += _episodes(first.runs[0], second.runs[0], score)
    return text


def _episodes(first: RunScores, second: RunScores, score: Score) -> str:
    """Return a sentence that compares two single runs by their episodes."""
    levels = sorted(first.episodes.keys() & second.episodes.keys())
    if len(levels) > 1:
        values = np.array([first.episodes[n] - second.episodes[n] for n in levels])
        ends = bootstrap_interval(values, seed=0)
        where = f"their {len(levels)} common levels"
        mean = float(values.mean())
    elif score.name.endswith("_rate") and first.count and second.count:
        a, b = (float(np.mean(list(r.tasks.values()))) for r in (first, second))
        mean, where = a - b, f"{first.count} and {second.count} episodes"
        ends = _rate_difference(a, first.count, b, second.count)
    else:
        return " Their files hold no scores of single episodes."
    known = "differ" if not ends[0] <= 0.0 <= ends[1] else "cannot be told apart"
    return (
        f" On {where} the two networks {known} ({mean:+.3g} [{ends[0]:+.3g}, "
        f"{ends[1]:+.3g}]), which says nothing of other seeds."
    )


def _rate_difference(a: float, n: int, b: float, m: int) -> Interval:
    """95 % interval of the difference of two rates (Agresti and Caffo 2000)."""
    p, q = (a * n + 1) / (n + 2), (b * m + 1) / (m + 2)
    half = Z95 * float(np.sqrt(p * (1 - p) / (n + 2) + q * (1 - q) / (m + 2)))
    return p - q - half, p - q + half
