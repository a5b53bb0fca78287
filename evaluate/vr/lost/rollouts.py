"""Decisions of an agent with what tells whether it is lost there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints, Singles
from ambulo.configs.vr import NavigationConfig, Task
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.evaluate.vr.episodes import LevelSource
from ambulo.evaluate.vr.evaluation import evaluate
from ambulo.evaluate.vr.lost.labels import lost_labels, stalled_seconds
from ambulo.evaluate.vr.lost.recorder import Measure, RecordedSteps, StepRecorder
from ambulo.evaluate.vr.scores import EpisodeRecord, EpisodeRecords
from ambulo.evaluate.vr.subjects import Controller, NavigationSubject, agent_subject

if TYPE_CHECKING:
    from ambulo.evaluate.vr.lost.critic import Critic
    from ambulo.policies.agents.navigation import Agent

Progress = Callable[[int], None]
"""Called with a number of episodes that have ended."""


@dataclass(frozen=True)
class LostDecisions:
    """Decisions of several episodes, in order."""

    episode: Ints
    """Index of the episode. Shape (S,)."""
    step: Ints
    """Index of the decision in its episode. Shape (S,)."""
    values: Singles
    """What was measured. Shape (S, K)."""
    lost: Bools
    """Whether the agent was lost. Shape (S,)."""
    stalled: Floats
    """Time without a new least straight distance to the goal, [s]. Shape (S,)."""


class RecordingSubject:
    """A subject whose controllers keep numbers at the decisions."""

    def __init__(
        self, subject: NavigationSubject, measure: Measure, *, every: int = 1
    ) -> None:
        """Keep what `measure` returns at one in `every` decisions of `subject`."""
        self._recorders: list[StepRecorder] = []
        inner = subject.make

        def make(envs: int) -> Controller:
            seed = len(self._recorders)
            recorder = StepRecorder(inner(envs), measure, every=every, seed=seed)
            self._recorders.append(recorder)
            return recorder

        self.subject = replace(subject, make=make)

    def decisions(self, records: EpisodeRecords, goal_radius: float) -> LostDecisions:
        """Return the kept decisions of `records`: all that the subject has played."""
        parts: list[RecordedSteps] = []
        at = 0
        for recorder in self._recorders:
            rows = records.episodes[at : at + recorder.episodes]
            part = recorder.steps([len(row.trace.yaw) - 1 for row in rows])
            parts.append(replace(part, episode=part.episode + at))
            at += recorder.episodes
        return _labelled(records.episodes, parts, goal_radius)


def head_measure(agent: Agent, critic: Critic | None) -> Measure:
    """Measure the logit of the agent's head, and the critic's value (0 without one)."""
    head = agent.lost_head
    assert head is not None, "the agent has a head"

    def measure(batch: NavigationBatch) -> Singles:
        logits = head(agent.actor.latent).numpy()
        return np.column_stack([logits, _values(batch, critic)])

    return measure


def latent_measure(agent: Agent, critic: Critic | None) -> Measure:
    """Measure the critic's value (0 without one), and the actor's last hidden layer."""

    def measure(batch: NavigationBatch) -> Singles:
        return np.column_stack([_values(batch, critic), agent.actor.latent.numpy()])

    return measure


def play(
    agent: Agent,
    config: NavigationConfig,
    source: LevelSource,
    episodes: int,
    *,
    task: Task,
    critic: Critic | None,
    every: int,
    progress: Progress,
) -> LostDecisions:
    """Return decisions of deterministic episodes, measured by `latent_measure`."""
    subject = replace(agent_subject(agent, config), privileged=critic is not None)
    recording = RecordingSubject(subject, latent_measure(agent, critic), every=every)
    records = evaluate(
        {"agent": recording.subject},
        source,
        episodes,
        task=task,
        progress=lambda _, ended: progress(ended),
    )["agent"]
    return recording.decisions(records, config.environment.goal_radius)


def _values(batch: NavigationBatch, critic: Critic | None) -> Singles:
    if critic is None:
        return np.zeros(batch.num_envs, np.float32)
    return critic(batch.obs)


def _labelled(
    episodes: Sequence[EpisodeRecord], parts: Sequence[RecordedSteps], radius: float
) -> LostDecisions:
    """Return the steps of `parts` with the labels of their episodes."""
    lengths = [len(one.trace.yaw) - 1 for one in episodes]
    first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    lost = np.concatenate([lost_labels(one, radius) for one in episodes])
    stalled = np.concatenate([stalled_seconds(one) for one in episodes])
    episode = np.concatenate([part.episode for part in parts])
    step = np.concatenate([part.step for part in parts])
    rows = first[episode] + step
    values = np.concatenate([part.values for part in parts])
    return LostDecisions(episode, step, values, lost[rows], stalled[rows])
