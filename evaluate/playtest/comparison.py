"""Two versions of a level: differences on the journeys that are possible in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.levels.level import Level
from ambulo.evaluate.playtest.journeys import Journey
from ambulo.evaluate.playtest.measures import Difference, differences
from ambulo.evaluate.playtest.problems import serious_spots
from ambulo.evaluate.playtest.result import Playtest
from ambulo.evaluate.shared.result import MetricColumn, measured

SAME_PLACE = 1.0
"""Starts and goals this near to each other are those of one journey, [m]."""
FACTS = (
    MetricColumn(
        "reachable_area_m2", "reachable floor", 1, unit="m²",
        of=lambda test: test.floor.reachable_area,
    ),
    MetricColumn("sealed_areas", "sealed areas", 0, of=lambda t: len(t.floor.sealed())),
    MetricColumn(
        "sealed_area_m2", "floor of sealed areas", 1, unit="m²",
        of=lambda test: np.sum([area.area for area in test.floor.sealed()]),
    ),
    MetricColumn("coverage", "coverage of the reachable floor", 1, percent=True),
    MetricColumn("stuck_spots", "stuck spots", 0, of=lambda test: len(test.spots)),
    MetricColumn(
        "serious_spots", "stuck spots that count", 0,
        of=lambda test: len(serious_spots(test)),
    ),
)  # fmt: skip
"""Numbers of a whole level."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """A level against another version of it."""

    test: Playtest
    """Play-test of the level."""
    other: Playtest
    """Play-test of the other version."""
    common: int
    """Journeys that were walked in both."""
    differences: list[Difference]
    """Measures of these journeys."""

    def fact_cells(self) -> list[list[str]]:
        """Return the rows of a table: `FACTS` of both versions."""
        ours, theirs = measured(FACTS, self.test), measured(FACTS, self.other)
        return [
            [
                fact.heading(fact.unit or "1"),
                fact.text(ours[fact.name]),
                fact.text(theirs[fact.name]),
            ]
            for fact in FACTS
        ]

    def to_data(self) -> dict[str, Any]:
        """The comparison as plain JSON data."""
        ours, theirs = measured(FACTS, self.test), measured(FACTS, self.other)
        return {
            "level": self.test.level.name,
            "other": self.other.level.name,
            "common_journeys": self.common,
            "differences": [
                {
                    "measure": d.measure.name,
                    "unit": d.difference.unit,
                    "journeys": d.journeys,
                    "level": d.ours.value,
                    "other": d.other.value,
                    "difference": d.difference.value,
                    "low": d.difference.low,
                    "high": d.difference.high,
                    "verdict": d.verdict,
                }
                for d in self.differences
            ],
            "facts": [
                {
                    "name": fact.name,
                    "title": fact.label,
                    "unit": "%" if fact.percent else fact.unit,
                    "ours": ours[fact.name].number,
                    "other": theirs[fact.name].number,
                }
                for fact in FACTS
            ],
        }


def compare(test: Playtest, other: Playtest) -> Comparison:
    """Return the differences of `test` from `other`, paired by journey."""
    rows = {journey.key: k for k, journey in enumerate(other.journeys)}
    ours = [
        k
        for k, journey in enumerate(test.journeys)
        if journey.key in rows and _alike(journey, other.journeys[rows[journey.key]])
    ]
    theirs = [rows[test.journeys[k].key] for k in ours]
    paired = differences(
        {name: values[ours] for name, values in test.values.items()},
        {name: values[theirs] for name, values in other.values.items()},
        test.flags.seed,
    )
    return Comparison(test, other, len(ours), paired)


def _alike(one: Journey, two: Journey) -> bool:
    """Whether two journeys begin and end in about the same places."""
    ends = np.array([one.start[[0, 1, 3]] - two.start[[0, 1, 3]], one.goal - two.goal])
    return bool((np.linalg.norm(ends, axis=1) <= SAME_PLACE).all())


def pairs(levels: Sequence[Level], others: Sequence[Level]) -> list[Level | None]:
    """The other version of each of `levels`: by its name, or the only one.

    Raises:
        LevelError: no level has another version.
    """
    if len(levels) == len(others) == 1:
        return [others[0]]
    by_name = {level.name: level for level in others}
    found = [by_name.get(level.name) for level in levels]
    if not any(found):
        raise LevelError(
            f"--compare: no level there is called {levels[0].name!r} or as another one "
            "that is tested"
        )
    return found
