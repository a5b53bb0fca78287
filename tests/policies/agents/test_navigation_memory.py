"""Recurrent agents remember each environment, and forget where episodes begin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fixtures.policy_replay import random_agent
from gymnasium.vector import AutoresetMode

import ambulo
from ambulo.evaluate.vr.episodes import LevelSource, episodes_for
from ambulo.evaluate.vr.evaluation import run_episodes
from ambulo.evaluate.vr.subjects import agent_subject
from ambulo.policies.agents.navigation import Agent

ENVS, STEPS = 3, 6


@pytest.fixture
def agent() -> Agent:
    """An agent of random weights that remembers."""
    made = random_agent(units=10)
    made.config = made.config.override(
        "environment", max_episode_steps=5, levels=("open", "rooms")
    )
    return made


def seen(steps: int = STEPS, envs: int = ENVS) -> Any:
    """Observations, shape (steps, envs, 48)."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(steps, envs, 48)).astype(np.float32)


def test_each_environment_is_remembered_alone(agent: Agent) -> None:
    obs = seen()
    together = [agent.act(row) for row in obs]
    for env in range(ENVS):
        own = agent.copy()
        alone = [own.act(row[env]) for row in obs]
        np.testing.assert_allclose(alone, [row[env] for row in together], atol=1e-6)
    fresh = agent.copy().act(obs[-1])
    assert np.abs(fresh - together[-1]).max() > 1e-3


def test_environments_are_forgotten_one_by_one(agent: Agent) -> None:
    agent.reset(np.array([0, 2]))  # nothing is remembered yet
    obs = seen()
    for row in obs[:-1]:
        agent.act(row)
    kept, some = agent.copy(), agent.copy()
    kept._states = some._states = agent._states
    some.reset(np.array([1]))
    want, fresh = kept.act(obs[-1]), agent.copy().act(obs[-1])
    got = some.act(obs[-1])
    np.testing.assert_allclose(got[[0, 2]], want[[0, 2]], atol=1e-6)
    np.testing.assert_allclose(got[1], fresh[1], atol=1e-6)
    kept.reset()
    np.testing.assert_array_equal(kept.act(obs[-1]), fresh)
    other = agent.act(seen(1, 2)[0])
    np.testing.assert_array_equal(other, agent.copy().act(seen(1, 2)[0]))


@pytest.mark.integration
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_environments_made_for_an_agent_tell_it_of_episodes(
    agent: Agent, mode: AutoresetMode
) -> None:
    env = ambulo.make_vec(agent, ENVS, autoreset_mode=mode)
    obs, _ = env.reset(seed=0)
    fresh = np.ones(ENVS, bool)
    own, begun = agent.copy(), 0
    for _ in range(4 * STEPS):
        own.reset(np.flatnonzero(fresh))
        got = agent.act(obs)
        np.testing.assert_allclose(got, own.act(obs), atol=1e-6)
        obs, *_ = env.step(got)
        fresh = env.unwrapped.batch.episode.steps == 0  # type: ignore[attr-defined]
        begun += int(fresh.sum())
    assert begun >= 2 * ENVS
    env.close()


@pytest.mark.integration
def test_an_environment_made_for_an_agent_tells_it_of_episodes(agent: Agent) -> None:
    env = ambulo.make(agent)
    first = []
    for _ in range(2):
        obs, _ = env.reset(seed=4)
        first.append(agent.act(obs))
        for _ in range(3):
            obs, *_ = env.step(agent.act(obs))
    np.testing.assert_array_equal(first[0], first[1])
    env.close()


@pytest.mark.integration
def test_the_number_of_environments_changes_no_episode(agent: Agent) -> None:
    config = agent.config.override("environment", max_episode_steps=40)
    bank, starts = episodes_for(LevelSource(config, split="validation"), 6)
    subject = agent_subject(agent, config)
    paths = []
    for envs in (1, 4, 6):
        records = run_episodes(
            subject.make(envs), config, bank, starts, num_envs=envs, seed=3
        )
        paths.append([episode.path for episode in records.episodes])
    np.testing.assert_allclose(paths[0], paths[1], atol=1e-3)
    np.testing.assert_allclose(paths[0], paths[2], atol=1e-3)
