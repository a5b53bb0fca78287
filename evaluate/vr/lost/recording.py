"""The policy of an evaluation, played so that what its head says is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.vr import NavigationConfig
from ambulo.evaluate.vr.lost.alarms import said
from ambulo.evaluate.vr.lost.critic import critic_of
from ambulo.evaluate.vr.lost.evaluation import HEAD, LostEvaluation
from ambulo.evaluate.vr.lost.rollouts import (
    LostDecisions,
    RecordingSubject,
    head_measure,
)
from ambulo.evaluate.vr.lost.scores import lost_scores
from ambulo.evaluate.vr.scores import EpisodeRecords
from ambulo.evaluate.vr.subjects import agent_subject
from ambulo.policies.agents.navigation import Agent, NavigationModel
from ambulo.policies.files.lost_header import LostHeader
from ambulo.policies.networks.lost_head import mapped

LOGIT = (1.0, 0.0)
"""The map of logits to their probabilities."""


class LostRecording:
    """The subject of a model with a head, which keeps what the head says."""

    def __init__(
        self,
        model: NavigationModel,
        config: NavigationConfig,
        *,
        deterministic: bool,
        seed: int,
    ) -> None:
        """Play `model` with the settings `config`; see `agent_subject`."""
        header = model.metadata.lost
        assert header is not None, "the model has a head"
        agent, critic = Agent(model), critic_of(model)
        subject = agent_subject(agent, config, deterministic=deterministic, seed=seed)
        self._recording = RecordingSubject(
            replace(subject, privileged=critic is not None), head_measure(agent, critic)
        )
        self._header, self._seed = header, seed
        self._radius = config.environment.goal_radius
        self.subject = self._recording.subject

    def result(self, records: EpisodeRecords) -> LostEvaluation:
        """Return the scores of all episodes that the subject has played."""
        decisions = self._recording.decisions(records, self._radius)
        p = mapped(decisions.values[:, 0], LOGIT)
        others = baselines(self._header, decisions)
        scores = {
            name: lost_scores(chances, decisions.lost, decisions.episode, self._seed)
            for name, chances in {HEAD: p, **others}.items()
        }
        return LostEvaluation(decisions, p, scores, _told(records, decisions, p))


def baselines(header: LostHeader, decisions: LostDecisions) -> dict[str, Floats]:
    """Return probabilities of simpler predictors, by name. Shape (S,) each."""
    stalled = np.log1p(decisions.stalled)
    found = {
        "base rate": np.full(len(stalled), header.base_rate),
        "no progress": mapped(stalled, header.stalled),
    }
    if header.critic is not None:
        found["critic"] = mapped(decisions.values[:, 1], header.critic)
    return found


def _told(
    records: EpisodeRecords, decisions: LostDecisions, p: Floats
) -> dict[bool, tuple[int, int]]:
    told = {True: (0, 0), False: (0, 0)}
    for number, one in enumerate(records.episodes):
        hit = bool(said(p[decisions.episode == number]).any())
        before, count = told[one.success]
        told[one.success] = (before + hit, count + 1)
    return told
