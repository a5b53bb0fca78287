"""Imitation by a recurrent policy: states, sequences, and a teacher that remembers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ObservationError
from ambulo.configs.imitation import ImitationConfig
from ambulo.policies.networks.actor_critic import NavigationPolicy
from ambulo.train.shared.dagger import (
    DaggerDataset,
    _Collector,
    fit_epochs,
    sequence_batches,
    states_before,
    teach,
)

ENVS, SIZE, LENGTH = 8, 3, 6


class EchoBatch:
    """Shows a number in the first step of an episode of `LENGTH` steps, then zeros."""

    num_envs = ENVS
    hidden = 0.0
    """Shown after the first step."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.obs = np.zeros((ENVS, SIZE), np.float32)
        self.shown = np.zeros(ENVS)
        self.episode: Any = SimpleNamespace(steps=np.zeros(ENVS, np.int64))

    def reset(self, envs: Any) -> Any:
        self.shown[envs] = self.rng.uniform(-1.0, 1.0, len(envs))
        self.obs[envs] = 0.0
        self.obs[envs, 0] = self.shown[envs]
        self.episode.steps[envs] = 0
        return self.obs

    def step(self, actions: Any) -> Any:
        self.episode.steps += 1
        self.obs[:] = self.hidden
        none = np.zeros(ENVS, bool)
        return self.obs, np.zeros(ENVS), none, self.episode.steps >= LENGTH, {}


class Echo:
    """Repeats what was shown."""

    def actions(self, batch: EchoBatch) -> Any:
        return np.tile(batch.shown[:, None], (1, 3))


def policy_of(units: int = 12) -> NavigationPolicy:
    torch.manual_seed(0)
    return NavigationPolicy(
        spaces.Box(-np.inf, np.inf, (SIZE,)),
        spaces.Box(-1, 1, (3,)),
        lambda _: 1e-3,
        scales=np.ones(SIZE, np.float32),
        actor_size=SIZE,
        widths=(16, 16),
        activation="tanh",
        units=units,
    )


@pytest.mark.integration
def test_a_student_imitates_what_only_memory_knows() -> None:
    policy, batch = policy_of(), EchoBatch()
    config = ImitationConfig(
        samples=4800, rounds=3, epochs=6, last_epochs=20, batch_size=120,
        learning_rate=5e-3, mix_rounds=1, noise=0.0,
    )  # fmt: skip
    rounds = teach(
        policy, batch, config, Echo(), seed=0, stop=StopRequest(), sequence=10,
    )  # fmt: skip
    assert rounds[-1].samples == 4800
    assert rounds[-1].error < 0.1, "the numbers have a deviation of 0.58"


def test_a_number_that_is_not_finite_ends_the_imitation() -> None:
    policy, batch = policy_of(), EchoBatch()
    batch.hidden = np.nan
    with pytest.raises(
        ObservationError, match="environment 0, step 1 of its episode: observation num"
    ):
        teach(
            policy, batch, ImitationConfig(samples=80, rounds=1), Echo(), seed=0,
            stop=StopRequest(), sequence=10,
        )  # fmt: skip


def test_a_student_forgets_where_episodes_begin() -> None:
    policy, batch = policy_of(), EchoBatch()
    student = _Collector(policy, batch, ImitationConfig(), Echo(), 0, None)

    def act() -> Any:
        student.dataset.obs.append(batch.obs.copy())
        student.dataset.starts.append(batch.episode.steps == 0)
        return student._act()

    first = act()
    batch.step(None)
    act()
    batch.obs[:, 0] = batch.shown
    batch.episode.steps[:4] = 0
    again = act()
    np.testing.assert_allclose(again[:4], first[:4], rtol=1e-5, atol=1e-7)
    assert np.abs(again[4:] - first[4:]).max() > 1e-6


def test_states_before_sequences_are_those_of_single_steps() -> None:
    policy = policy_of()
    obs, starts = torch.randn(12, ENVS, SIZE), torch.rand(12, ENVS) < 0.2
    found = states_before(policy, obs, starts, 4)
    assert found.shape == (3 * ENVS, 12)
    state = torch.zeros(ENVS, 12)
    for step in range(12):
        if step % 4 == 0:
            rows = slice(step // 4 * ENVS, (step // 4 + 1) * ENVS)
            torch.testing.assert_close(found[rows], state)
        with torch.no_grad():
            _, state = policy.mean_step(obs[step], state * ~starts[step][:, None])


def test_few_steps_are_one_sequence() -> None:
    policy, dataset = policy_of(), DaggerDataset()
    for _ in range(3):
        dataset.obs.append(np.ones((ENVS, SIZE), np.float32))
        dataset.actions.append(np.zeros((ENVS, 3), np.float32))
        dataset.starts.append(np.zeros(ENVS, bool))
    optimizer = torch.optim.Adam(policy.parameters())
    batches = sequence_batches(policy, dataset, ImitationConfig().batch_size, 64)
    error = fit_epochs(optimizer, batches, 1e-3, 2, cool=True)
    assert np.isfinite(error)
