"""The report of a sweep: one JSON, one table, one picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from scipy.stats import trim_mean

from ambulo.commands.sweeps.difference import Group, difference_of
from ambulo.commands.sweeps.folder import StudyFolder, SweepPlan
from ambulo.commands.sweeps.scores import (
    common_tasks,
    final_scores,
    is_finished,
    learning_curve,
    matrix_of,
)
from ambulo.commands.sweeps.statistics import (
    bootstrap,
    interquartile_mean,
    interval,
    optimality_gap,
    performance_profile,
)
from ambulo.common.tables import print_rows
from ambulo.configs.arrays import Floats
from ambulo.configs.trainings import Score

THRESHOLDS = 101
"""Points of a performance profile."""
POINTS = 200
"""Points of a learning curve, at most."""
BAND_RESAMPLES = 2000
"""Resamples of the bands of profiles and curves."""
FEW = 5
"""With fewer seeds, intervals of a bootstrap are too narrow."""


def sweep_report(
    folder: StudyFolder[SweepPlan], plan: SweepPlan, score: Score
) -> dict[str, Any]:
    """Return all numbers of a sweep as data for JSON; unfinished runs are left out.

    Raises:
        RunFolderError: a finished run has no such score.
    """
    training = plan.training
    finished = {
        planned: final_scores(folder.run(planned.name), training, score)
        for planned in plan.runs()
        if is_finished(folder.run(planned.name), training)
    }
    tasks = common_tasks(list(finished.values())) if finished else []
    groups = {
        variant.label: [s for p, s in finished.items() if p.variant == variant]
        for variant in plan.variants
    }
    every = matrix_of(list(finished.values()), tasks)
    thresholds = _thresholds(every, score)
    variants = []
    for variant in plan.variants:
        data: dict[str, Any] = {
            "label": variant.label,
            "settings": list(variant.overrides),
            "runs": [
                {
                    "folder": planned.name,
                    "seed": planned.seed,
                    "scores": dict(finished[planned].tasks)
                    if planned in finished
                    else None,
                }
                for planned in plan.runs()
                if planned.variant == variant
            ],
        }
        if groups[variant.label]:
            matrix = matrix_of(groups[variant.label], tasks)
            data |= _summary(matrix, score, thresholds)
            curves = [
                learning_curve(run.path, training, score)
                for run in groups[variant.label]
            ]
            data["curve"] = _curve([curve for curve in curves if len(curve[0])])
        variants.append(data)
    return {
        "training": " ".join(filter(None, (training.word, training.preset))),
        "flags": list(plan.arguments),
        "score": score.model_dump(),
        "steps": training.kind.steps,
        "seeds": list(plan.seeds),
        "tasks": tasks,
        "variants": variants,
        "comparisons": _comparisons(groups, variants, score),
    }


def _summary(matrix: Floats, score: Score, thresholds: Floats) -> dict[str, Any]:
    """Return mean, interquartile mean, gap and profile of scores (runs, tasks)."""
    many = len(matrix) > 1
    data: dict[str, Any] = {
        "mean": float(matrix.mean()),
        "iqm": float(interquartile_mean(matrix)),
        "iqm_ci95": interval(bootstrap(interquartile_mean, matrix)) if many else None,
    }
    if score.ideal is not None:
        ideal = score.ideal

        def gap(scores: Floats) -> Floats:
            return optimality_gap(scores, ideal)

        data["optimality_gap"] = float(gap(matrix))
        data["optimality_gap_ci95"] = interval(bootstrap(gap, matrix)) if many else None
    bands = bootstrap(
        lambda scores: performance_profile(scores, thresholds),
        matrix,
        resamples=BAND_RESAMPLES,
    )
    low, high = np.percentile(bands, [2.5, 97.5], axis=0)
    data["profile"] = {
        "thresholds": thresholds.tolist(),
        "above": performance_profile(matrix, thresholds).tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
    }
    return data


def _thresholds(every: Floats, score: Score) -> Floats:
    """Return the thresholds of the profiles: the range of all scores, and the ideal."""
    if not every.size:
        return np.empty(0)
    low, high = float(every.min()), float(every.max())
    margin = 0.05 * (high - low) or 0.05 * max(abs(high), 1e-6)
    top = score.ideal if score.ideal is not None else high + margin
    return np.linspace(low - margin, max(top, high), THRESHOLDS)


def _curve(curves: Sequence[tuple[Floats, Floats]]) -> dict[str, Any] | None:
    """Return the interquartile mean of curves over runs, with a band, on common steps."""
    if not curves:
        return None
    begin = max(steps[0] for steps, _ in curves)
    end = min(steps[-1] for steps, _ in curves)
    every = np.unique(np.concatenate([steps for steps, _ in curves]))
    steps = every[(every >= begin) & (every <= end)]
    if not len(steps):
        return None
    if len(steps) > POINTS:
        steps = np.linspace(begin, end, POINTS)
    matrix = np.array([np.interp(steps, *curve) for curve in curves])

    def middle(values: Floats) -> Floats:
        return np.asarray(trim_mean(values, 0.25, axis=-2))

    bands = bootstrap(middle, matrix, resamples=BAND_RESAMPLES)
    low, high = np.percentile(bands, [2.5, 97.5], axis=0)
    return {
        "steps": steps.tolist(),
        "iqm": middle(matrix).tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
    }


def _comparisons(
    groups: Mapping[str, Any], variants: Sequence[Mapping[str, Any]], score: Score
) -> list[dict[str, Any]]:
    """Return the best variant beside each other one."""
    ranked = [data for data in variants if "iqm" in data]
    if len(ranked) < 2:
        return []
    best = max(ranked, key=lambda data: score.sign * data["iqm"])["label"]
    return [
        asdict(
            difference_of(Group(best, groups[best]), Group(label, groups[label]), score)
        )
        for label in (data["label"] for data in ranked)
        if label != best
    ]


def print_report(report: Mapping[str, Any]) -> None:
    """Print the report as a table and sentences."""
    score = report["score"]
    title = f"{report['training']}: {score['label']}, {score['better']} is better"
    heads, rows = ["settings", "seeds", "IQM [95 % interval]", "mean"], []
    heads += ["optimality gap"] if score["ideal"] is not None else []
    compared = {row["second"]: row for row in report["comparisons"]}
    heads += ["P(best is better)"] if compared else []
    for data in report["variants"]:
        done, total = finished_runs(data), len(data["runs"])
        count = str(done) if done == total else f"{done} of {total}"
        cells = []
        if done:
            cells = [with_interval(data["iqm"], data["iqm_ci95"])]
            cells.append(f"{data['mean']:.3f}")
            if score["ideal"] is not None:
                gap = (data["optimality_gap"], data["optimality_gap_ci95"])
                cells.append(with_interval(*gap))
            row = compared.get(data["label"])
            if row:
                cells.append(with_interval(row["probability"], row["probability_ci95"]))
            elif compared:
                cells.append("best")
        rows.append([data["label"], count, *cells])
    print_rows(title, heads, rows)
    for row in report["comparisons"]:
        print(row["sentence"])
    for line in warnings_of(report):
        print(line)


def finished_runs(data: Mapping[str, Any]) -> int:
    """Return the number of finished runs of a variant."""
    return sum(run["scores"] is not None for run in data["runs"])


def warnings_of(report: Mapping[str, Any]) -> list[str]:
    """Return what a reader must know of the intervals."""
    counts = map(finished_runs, report["variants"])
    least = min(filter(None, counts), default=0)
    if least == 1:
        return ["One seed says nothing of other seeds: there is no interval."]
    if 1 < least < FEW:
        return [f"{least} seeds: intervals of so few are narrower than 95 % should be."]
    return []


def with_interval(value: float, ends: Sequence[float] | None) -> str:
    """Return a number with its interval, if there is one."""
    return f"{value:.3f}" + (f" [{ends[0]:.3f}, {ends[1]:.3f}]" if ends else "")
