"""Two versions of a level: differences on the journeys that are possible in both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.levels.level import Level
from ambulo.evaluate.playtest.journeys import Journey
from ambulo.evaluate.playtest.measures import Difference, differences
from ambulo.evaluate.playtest.problems import serious_spots
from ambulo.evaluate.playtest.result import Playtest

SAME_PLACE = 1.0
"""Starts and goals this near to each other are those of one journey, [m]."""


@dataclass(frozen=True)
class Fact:
    """A number of a whole level, in two versions."""

    name: str
    """Key in files."""
    title: str
    """In tables."""
    unit: str
    """Unit."""
    ours: float
    """In the level that is tested."""
    other: float
    """In the other version."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """A level against another version of it."""

    test: Playtest
    """Of the level."""
    other: Playtest
    """Of the other version."""
    common: int
    """Journeys that were walked in both."""
    differences: list[Difference]
    """Measures of these journeys."""
    facts: list[Fact]
    """Numbers of the whole levels."""

    def to_data(self) -> dict[str, Any]:
        """The comparison as plain JSON data."""
        return {
            "level": self.test.level.name,
            "other": self.other.level.name,
            "common_journeys": self.common,
            "differences": [
                {
                    "measure": d.measure.name,
                    "unit": d.difference.unit,
                    "journeys": d.journeys,
                    "level": d.ours,
                    "other": d.other,
                    "difference": d.difference.value,
                    "low": d.difference.low,
                    "high": d.difference.high,
                    "verdict": d.verdict,
                }
                for d in self.differences
            ],
            "facts": [vars(fact) for fact in self.facts],
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
    return Comparison(
        test=test,
        other=other,
        common=len(ours),
        differences=differences(
            {name: values[ours] for name, values in test.values.items()},
            {name: values[theirs] for name, values in other.values.items()},
            test.settings.seed,
        ),
        facts=_facts(test, other),
    )


def _alike(one: Journey, two: Journey) -> bool:
    """Whether two journeys begin and end in about the same places."""
    ends = np.array([one.start[[0, 1, 3]] - two.start[[0, 1, 3]], one.goal - two.goal])
    return bool((np.linalg.norm(ends, axis=1) <= SAME_PLACE).all())


def _facts(test: Playtest, other: Playtest) -> list[Fact]:
    """Numbers of two whole levels."""
    numbers: list[tuple[str, str, str, Callable[[Playtest], float]]] = [
        ("reachable_area_m2", "reachable floor", "m²", lambda t: t.floor.reachable_area),
        ("sealed_areas", "sealed areas", "", lambda t: len(t.floor.sealed())),
        (
            "sealed_area_m2", "floor of sealed areas", "m²",
            lambda t: float(np.sum([a.area for a in t.floor.sealed()])),
        ),
        ("coverage", "coverage of the reachable floor", "%", lambda t: t.coverage),
        ("stuck_spots", "stuck spots", "", lambda t: len(t.spots)),
        ("serious_spots", "stuck spots that count", "", lambda t: len(serious_spots(t))),
    ]  # fmt: skip
    return [
        Fact(name, title, unit, float(get(test)), float(get(other)))
        for name, title, unit, get in numbers
    ]


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
