"""Numbers at decisions belong to the episodes that they were kept in."""

from __future__ import annotations

import numpy as np

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.evaluate.vr.episodes import LevelSource
from ambulo.evaluate.vr.evaluation import evaluate
from ambulo.evaluate.vr.lost.rollouts import RecordingSubject
from ambulo.evaluate.vr.subjects import planner_subject


def positions(batch: NavigationBatch) -> np.ndarray:
    return batch.world.state.position.astype(np.float32)


def played(every: int, num_envs: int, agents: int = 1):
    config = NavigationConfig().override(
        "environment", world="kernel", max_episode_steps=60, agents=agents
    )
    subject = planner_subject("straight", config)
    recording = RecordingSubject(subject, positions, every=every)
    source = LevelSource(config, level_set="pillars,open", split="validation")
    records = evaluate({"a": recording.subject}, source, 10, num_envs=num_envs)["a"]
    return records, recording.decisions(records, 1.0)


def test_every_decision_is_where_the_trace_says() -> None:
    for agents in (1, 2):
        records, found = played(1, 4, agents)
        lengths = [len(one.trace.yaw) - 1 for one in records.episodes]
        np.testing.assert_array_equal(np.bincount(found.episode), lengths)
        for number, one in enumerate(records.episodes):
            rows = found.episode == number
            np.testing.assert_array_equal(found.step[rows], np.arange(lengths[number]))
            np.testing.assert_allclose(
                found.values[rows], one.trace.position[:-1], atol=1e-5
            )


def test_a_sample_is_one_in_so_many_decisions() -> None:
    _, whole = played(1, 10)
    _, part = played(5, 10)
    steps = np.split(part.step, np.flatnonzero(np.diff(part.episode)) + 1)
    assert all((np.diff(one) == 5).all() for one in steps)
    assert len({int(one[0]) for one in steps}) > 1
    assert abs(len(whole.step) / 5 - len(part.step)) <= 10
