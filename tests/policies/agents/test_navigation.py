"""Agents: sampling, classes, and observations of other sizes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from fixtures.model_files import tiny_model
from fixtures.untrained import untrained_navigator

from ambulo.configs.errors import ModelFileError, ObservationError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.task.observation import observation_layout
from ambulo.policies.agents.navigation import Agent


def test_agents_sample_with_their_generator_and_refuse_other_sizes() -> None:
    agent = Agent(tiny_model())
    obs = np.zeros((4, 48), np.float32)
    draws = [
        agent.act(obs, deterministic=False, generator=torch.Generator().manual_seed(s))
        for s in (1, 1, 2)
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()
    assert draws[0].dtype == np.float32
    assert np.abs(draws[0]).max() <= 1.0
    with pytest.raises(ModelFileError, match=r"\(N, 48\), got \(4, 54\)"):
        agent.act(np.zeros((4, 54), np.float32), deterministic=True)
    obs[2, 7] = np.nan
    where = "observation 2: number 7 is nan, in part 'camera_velocity'"
    with pytest.raises(ObservationError, match=where):
        agent.act(obs)
    obs[2, 7] = 0.0
    agent.check_layout(observation_layout(NavigationConfig()))
    other = NavigationConfig().override("observations", num_ray_sensors=8)
    with pytest.raises(
        ModelFileError, match=r"ray_sensors\[13:29\].*ray_sensors\[13:21"
    ):
        agent.check_layout(observation_layout(other))


def test_discrete_agents_choose_classes() -> None:
    agent = Agent(tiny_model("discrete"))
    obs = np.random.default_rng(0).normal(size=(200, 48)).astype(np.float32)
    best = agent.act(obs, deterministic=True)
    drawn = agent.act(obs, deterministic=False)
    assert best.shape == drawn.shape == (200,)
    assert best.dtype == np.int64
    assert set(drawn.tolist()) == set(range(7))


def test_being_lost_follows_from_no_progress_and_from_staying() -> None:
    config = NavigationConfig().override("observations", memory="visits")
    agent = Agent(untrained_navigator(config))
    assert agent.lost is None
    obs = np.zeros((4, agent.layout.size), np.float32)
    end = agent.layout.slices()["visits"].stop
    obs[:, end - 2] = 0.2 * np.log1p([0, 20, 99, -0.9])  # no memory gives the last one
    obs[:, end - 1] = 0.01 * np.array([0, 300, 20, -5])
    agent.act(obs)
    assert agent.lost is not None
    odds = np.exp(-4.2) * np.array([1.0, 301**0.3 * 21**0.85, 21**0.3 * 100**0.85, 1.0])
    np.testing.assert_allclose(agent.lost, odds / (1.0 + odds), rtol=1e-5)
    assert agent.copy().lost is None
    without = Agent(tiny_model())
    without.act(np.zeros((4, 48), np.float32))
    assert without.lost is None
