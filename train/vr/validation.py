"""Scores of a navigation policy while it trains."""

from __future__ import annotations

from typing import Any

from ambulo.configs.vr import NavigationConfig
from ambulo.evaluate.vr.episodes import LevelSource, episodes_for
from ambulo.evaluate.vr.evaluation import run_episodes
from ambulo.evaluate.vr.scores import summarise
from ambulo.evaluate.vr.subjects import agent_subject
from ambulo.policies.agents.navigation import Agent

_SCORES = (
    "success_rate",
    "spl",
    "soft_spl",
    "comfort_score",
    "collisions_per_episode",
    "return_mean",
    "mean_time_s",
)


class Validation:
    """Evaluates policies on a fixed set of validation levels."""

    def __init__(self, config: NavigationConfig, *, deterministic: bool) -> None:
        """Keep the settings; levels are made at the first call."""
        self._config, self._deterministic = config, deterministic
        self._episodes: Any = None

    def __call__(self, agent: Agent) -> dict[str, float]:
        """Return the scores that are logged as `eval/<name>`."""
        if self._episodes is None:
            count = self._config.training.eval_episodes
            source = LevelSource(self._config, split="validation")
            self._episodes = episodes_for(source, count)
        bank, starts = self._episodes
        subject = agent_subject(agent, self._config, deterministic=self._deterministic)
        records = run_episodes(subject.make(len(starts)), self._config, bank, starts)
        result = summarise(records)
        seconds = self._config.environment.decision_dt
        return {name: result[name].number for name in _SCORES} | {
            "mean_ep_length": result["mean_time_s"].number / seconds
        }
