"""Which activities take part when."""

from __future__ import annotations

import json

import pytest

from ambulo.configs.errors import ConfigError
from ambulo.configs.motion import (
    WALK_RUN_JUMP,
    ActivityCurriculum,
    ActivityStage,
    DatasetConfig,
)
from ambulo.motion.datasets.curriculum import CurriculumProgress


def test_activities_come_in_one_after_the_other() -> None:
    curriculum = CurriculumProgress(WALK_RUN_JUMP)
    seen = {-1: curriculum.activities}
    loss = 1.0
    for epoch in range(40):
        loss *= 0.9  # always progress: only the length of the stages counts
        if curriculum.advance(loss):
            seen[epoch] = curriculum.activities
    assert list(seen.items()) == [
        (-1, ("walk",)), (9, ("walk", "run")), (19, ("walk", "run", "jump")), (29, None),
    ]  # fmt: skip


def test_a_plateau_ends_a_stage() -> None:
    curriculum = CurriculumProgress(WALK_RUN_JUMP)
    losses = [1.0, 0.8, 0.799, 0.798, 0.797]  # less than 1 % better: no progress
    assert [curriculum.advance(loss) for loss in losses] == [False] * 4 + [True]
    # The next stage begins anew, though its loss is higher.
    assert [curriculum.advance(loss) for loss in (1.5, 1.5, 1.5, 1.5)] == [
        False,
        False,
        False,
        True,
    ]


def test_without_patience_only_the_length_counts() -> None:
    config = WALK_RUN_JUMP.replace(patience=None)
    curriculum = CurriculumProgress(config)
    assert [curriculum.advance(1.0) for _ in range(10)] == [False] * 9 + [True]


def test_no_stages_are_all_activities() -> None:
    curriculum = CurriculumProgress(ActivityCurriculum())
    assert curriculum.activities is None
    assert not curriculum.advance(1.0)


def test_state_survives_json() -> None:
    for epochs in (0, 5, 12, 40):
        curriculum = CurriculumProgress(WALK_RUN_JUMP)
        for _ in range(epochs):
            curriculum.advance(1.0)
        other = CurriculumProgress(WALK_RUN_JUMP)
        other.load_state_dict(json.loads(json.dumps(curriculum.state_dict())))
        for _ in range(20):
            assert other.advance(1.0) == curriculum.advance(1.0)
            assert other.activities == curriculum.activities


def test_an_unknown_activity() -> None:
    config = ActivityCurriculum(stages=(ActivityStage(activities=("wlak",)),))
    with pytest.raises(ConfigError, match="did you mean 'walk'"):
        CurriculumProgress(config)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"test_ratio": 0.9, "validation_ratio": 0.2}, "leave nothing to learn from"),
        ({"split_by": "activity", "test_subjects": ["02"]}, "test_subjects needs"),
        ({"streaming": True, "shard_mb": 100.0}, "shard_mb must not be larger"),
        ({"windw": 3}, "did you mean 'window'"),
    ],
)
def test_wrong_settings(changes: dict[str, object], rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        DatasetConfig().replace(**changes)
