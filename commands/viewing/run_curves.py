"""The learning curves of a run folder, read again when its files have changed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ambulo.common.metrics_file import read_evaluations, read_metrics
from ambulo.common.run_folder import RunFolder
from ambulo.configs.arrays import Floats
from ambulo.configs.errors import RunFolderError
from ambulo.viz.viewer.curves import Curve

log = logging.getLogger(__name__)

STEPS = ("time/total_timesteps", "timesteps", "step", "epoch")
"""Columns of `metrics.csv` that count, the first one that is there."""
NOT_SHOWN = ("time/", "timesteps", "step", "epoch", "seconds")
"""How columns begin that are no result."""
MOST_SERIES = 6
"""Lines in a plot."""
MOST_PLOTS = 8


class RunCurves:
    """Reads the curves of one run."""

    def __init__(self, run: RunFolder) -> None:
        """Nothing read yet."""
        self._run = run
        self._seen: tuple[float, float] | None = None
        self._curves: Sequence[Curve] = ()

    def __call__(self) -> Sequence[Curve]:
        """Return the curves; the same object as before where nothing is new."""
        seen = (_changed(self._run.metrics), _changed(self._run.evaluations))
        if seen == self._seen:
            return self._curves
        self._seen = seen
        try:
            curves = [*self._evaluated(), *self._logged()]
        except RunFolderError as error:  # half a file on a shared disk: the next look
            log.debug("%s", error)
            return self._curves
        self._curves = curves[:MOST_PLOTS]
        return self._curves

    def _evaluated(self) -> list[Curve]:
        """Scores of the evaluations."""
        rows = read_evaluations(self._run.evaluations)
        if not rows:
            return []
        names = dict.fromkeys(
            name
            for row in rows
            for name, value in row.items()
            if _is_number(value) and not name.startswith(NOT_SHOWN)
        )
        steps = np.array([row["timesteps"] for row in rows], np.float64)
        result = {
            name: np.array([_number(row.get(name)) for row in rows]) for name in names
        }
        return list(_grouped("evaluation", steps, result))

    def _logged(self) -> list[Curve]:
        """Columns of `metrics.csv`, a plot for each group of names `group/name`."""
        columns = read_metrics(self._run.metrics)
        counted = next((name for name in STEPS if name in columns), None)
        if counted is None:
            return []
        steps = columns[counted]
        groups: dict[str, dict[str, Floats]] = {}
        for name, values in columns.items():
            if name.startswith(NOT_SHOWN) or not np.isfinite(values).any():
                continue
            group, _, short = name.rpartition("/")
            groups.setdefault(group or "training", {})[short] = values
        order = sorted(groups, key=lambda name: name not in ("rollout", "validation"))
        return [
            curve for name in order for curve in _grouped(name, steps, groups[name])
        ]


def _grouped(title: str, steps: Floats, series: dict[str, Floats]) -> Iterable[Curve]:
    """Plots of series of like size, so that no line is flat beside a large one."""
    selected = np.isfinite(steps)
    sizes: dict[int, dict[str, Floats]] = {}
    for name, values in series.items():
        known = np.abs(values[np.isfinite(values)])
        large = float(known.max()) if len(known) else 0.0
        size = 0 if large <= 1.5 else 1 + int(np.log10(large) / 1.5)
        sizes.setdefault(size, {})[name] = values[selected]
    for size in sorted(sizes):
        names = list(sizes[size])
        for first in range(0, len(names), MOST_SERIES):
            own = names[first : first + MOST_SERIES]
            label = f"{title}: {', '.join(own)}" if len(own) <= 2 else f"{title} {size}"
            if first:
                label += f" ({first // MOST_SERIES + 1})"
            yield Curve(
                label, steps[selected], {name: sizes[size][name] for name in own}
            )


def _changed(file: Path) -> float:
    try:
        return float(file.stat().st_mtime_ns)
    except OSError:
        return 0.0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: object) -> float:
    return float(value) if _is_number(value) else np.nan  # type: ignore[arg-type]
