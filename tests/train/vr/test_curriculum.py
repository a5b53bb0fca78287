"""Promotion by success with a minimum lesson length, or by budget."""

from __future__ import annotations

import json

from ambulo.configs.vr import CurriculumStage
from ambulo.train.vr.curriculum import WINDOW, LevelCurriculum


def stages(threshold: float | None = 0.9) -> list[CurriculumStage]:
    return [
        CurriculumStage(
            name=name,
            max_goal_distance=distance,
            timesteps=1000,
            success_threshold=threshold,
            min_timesteps=200,
        )
        for name, distance in (("easy", 10.0), ("medium", 20.0), ("hard", 30.0))
    ]


def test_budget_ends_a_stage_without_success() -> None:
    curriculum = LevelCurriculum(stages())
    curriculum.add([False] * WINDOW)
    assert not curriculum.advance(999)
    assert curriculum.advance(1000)
    assert curriculum.stage.name == "medium"
    assert not curriculum.advance(1999)
    assert curriculum.advance(2000)
    assert not curriculum.advance(10_000), "the last stage goes on to the end"


def test_success_promotes_after_the_minimum_length() -> None:
    curriculum = LevelCurriculum(stages())
    curriculum.add([True] * WINDOW)
    assert not curriculum.advance(199)
    assert curriculum.advance(200)
    assert not curriculum.advance(500), "old successes do not count in the new stage"


def test_few_episodes_are_no_evidence() -> None:
    curriculum = LevelCurriculum(stages())
    curriculum.add([True] * (WINDOW - 1))
    assert curriculum.success_rate is None
    assert not curriculum.advance(300)
    curriculum.add([True])
    assert curriculum.advance(300)


def test_only_recent_episodes_count() -> None:
    curriculum = LevelCurriculum(stages())
    curriculum.add([False] * 1000 + [True] * WINDOW)
    assert curriculum.success_rate == 1.0


def test_without_threshold_only_the_budget_counts() -> None:
    curriculum = LevelCurriculum(stages(None))
    curriculum.add([True] * WINDOW)
    assert not curriculum.advance(999)
    assert curriculum.advance(1000)


def test_state_survives_json() -> None:
    curriculum, other = LevelCurriculum(stages()), LevelCurriculum(stages())
    curriculum.advance(1000)
    curriculum.add([True, False] * 60)
    other.load_state_dict(json.loads(json.dumps(curriculum.state_dict())))
    assert other.state_dict() == curriculum.state_dict()
    for each in (curriculum, other):
        each.add([True] * 180)
    assert curriculum.advance(1300)
    assert other.advance(1300)
