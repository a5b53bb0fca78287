"""The walkable floor of a level, and the parts of it that agents cannot reach."""

from __future__ import annotations

from ambulo.envs.vr.levels.level import Level
from ambulo.evaluate.playtest.flat_survey import survey_flat
from ambulo.evaluate.playtest.floor import MIN_AREA, Floor
from ambulo.evaluate.playtest.layered_survey import survey_heights


def survey(level: Level, min_area: float = MIN_AREA) -> Floor:
    """Return the floor of `level`, and every part that cannot be reached.

    Raises:
        LevelError: no place for a body.
    """
    if level.heights:
        return survey_heights(level, min_area)
    return survey_flat(level, min_area)
