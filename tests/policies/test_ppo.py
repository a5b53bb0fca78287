"""FastPPO against Stable-Baselines3's PPO, and the bootstrap of truncated episodes."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import CallbackList
from stable_baselines3.common.logger import Logger

from ambulo.configs.errors import AmbuloError, ObservationError, RewardError
from ambulo.envs.layout import ObservationLayout, Part
from ambulo.policies.networks.actor_critic import NavigationPolicy
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sb3_batch_env import Sb3BatchEnv

SIZE, NUM_ENVS, STEPS = 5, 6, 8


class CountingBatch:
    """Envs whose observation is noise; some end, some are truncated."""

    num_envs = NUM_ENVS
    spoil: Callable[[CountingBatch], None] = staticmethod(lambda batch: None)
    """Called after each step and reset; it may change numbers."""

    def __init__(self, truncate_at: int = 3, solve: bool = False) -> None:
        self.rewards, self.resets = np.zeros(NUM_ENVS), 0
        self.terms = {"reward/step": np.arange(NUM_ENVS, dtype=np.float64)}
        self.rng = np.random.default_rng(0)
        self.obs = np.zeros((NUM_ENVS, SIZE), np.float32)
        self.truncate_at, self.solve = truncate_at, solve
        self.last: list[Any] = []
        zeros = np.zeros(NUM_ENVS)
        self.episode = SimpleNamespace(
            reward=zeros,
            steps=zeros.astype(np.int64),
            path=zeros,
            start_distance=zeros,
        )

    def seed(self, seeds: Any) -> None:
        pass

    def reset(self, envs: Any) -> Any:
        self.obs[envs] = self.rng.normal(size=(len(envs), SIZE))
        self.episode.steps[envs] = 0
        self.resets += 1
        self.spoil(self)
        return self.obs

    def step(self, actions: Any) -> Any:
        self.episode.steps[:] += 1
        self.obs[:] = self.rng.normal(size=self.obs.shape)
        self.rewards[:] = self.terms["reward/step"]
        self.spoil(self)
        ended = self.episode.steps >= self.truncate_at
        ended[1::2] = False
        if ended.any():
            self.last.append(self.obs[ended].copy())
        none = np.zeros(NUM_ENVS, np.bool_)
        solved, truncated = (ended, none) if self.solve else (none, ended)
        info = {"is_success": solved, **self.terms}
        return self.obs, self.rewards, solved, truncated, info

    def close(self) -> None:
        pass


def policy_kwargs() -> dict[str, Any]:
    return {
        "scales": np.linspace(0.5, 1.5, SIZE, dtype=np.float32),
        "actor_size": SIZE,
        "widths": (16, 16),
        "activation": "tanh",
        "optimizer_kwargs": {"eps": 1e-5},
    }


def learner_on(batch: CountingBatch, discrete: bool = False, **kwargs: Any) -> FastPPO:
    actions: spaces.Space[Any] = spaces.Box(-1, 1, (3,), np.float32)
    if discrete:
        actions = spaces.Discrete(7)
    learner = FastPPO(
        NavigationPolicy,
        Sb3BatchEnv(batch, actions),
        **{"n_steps": STEPS, "batch_size": STEPS * NUM_ENVS, "seed": 0, **kwargs},
        policy_kwargs=policy_kwargs(),
        device="cpu",
    )
    learner.set_logger(Logger(None, []))
    return learner


def filled(learner: FastPPO) -> FastPPO:
    """The learner after one roll-out."""
    learner._setup_learn(10**6)
    callback = CallbackList([])
    callback.init_callback(learner)
    assert learner.env is not None
    done = learner.collect_rollouts(
        learner.env, callback, learner.rollout_buffer, learner.n_steps
    )
    assert done
    return learner


@pytest.mark.parametrize("discrete", [False, True])
def test_an_update_equals_that_of_stable_baselines3(discrete: bool) -> None:
    settings: dict[str, Any] = {
        "learning_rate": 1e-2,
        "n_epochs": 3,
        "ent_coef": 0.01,
        "clip_range": 0.1,
        "max_grad_norm": 0.4,
    }
    fast = filled(learner_on(CountingBatch(), discrete, **settings))
    stock = PPO(
        NavigationPolicy,
        Sb3BatchEnv(CountingBatch(), fast.action_space),
        n_steps=STEPS,
        batch_size=STEPS * NUM_ENVS,
        policy_kwargs=policy_kwargs(),
        device="cpu",
        **settings,
    )
    stock.set_logger(Logger(None, []))
    stock.policy.load_state_dict(fast.policy.state_dict())
    stock.rollout_buffer = copy.deepcopy(fast.rollout_buffer)
    before = [p.detach().clone() for p in fast.policy.parameters()]
    fast.train()
    stock.train()
    moved = 0.0
    for old, mine, other in zip(
        before, fast.policy.parameters(), stock.policy.parameters(), strict=True
    ):
        torch.testing.assert_close(mine, other, atol=1e-5, rtol=0.0)
        moved = max(moved, float((mine - old).abs().max().detach()))
    assert moved > 1e-3
    logs, others = fast.logger.name_to_value, stock.logger.name_to_value
    for name in ("policy_gradient_loss", "entropy_loss", "clip_fraction", "approx_kl"):
        key = f"train/{name}"
        np.testing.assert_allclose(logs[key], others[key], atol=1e-5)
    assert fast._n_updates == stock._n_updates


def test_returns_equal_those_of_stable_baselines3() -> None:
    fast = filled(learner_on(CountingBatch(), reward_scale=0.1))
    buffer = fast.rollout_buffer
    with torch.no_grad():
        obs = torch.as_tensor(buffer.observations)
        values = fast.policy.predict_values(obs.flatten(0, 1)).reshape(STEPS, NUM_ENVS)
    np.testing.assert_allclose(buffer.values, values, atol=1e-6)
    assert fast._last_obs is not None
    with torch.no_grad():
        last = fast.policy.predict_values(torch.as_tensor(fast._last_obs))
    again = copy.deepcopy(buffer)
    again.compute_returns_and_advantage(last, np.asarray(fast._last_episode_starts))
    np.testing.assert_allclose(buffer.returns, again.returns, atol=1e-5)


@pytest.mark.parametrize("solve", [False, True])
def test_only_truncated_episodes_are_bootstrapped(solve: bool) -> None:
    batch = CountingBatch(truncate_at=3, solve=solve)
    fast = filled(learner_on(batch, reward_scale=0.5, gamma=0.9))
    plain = 0.5 * np.arange(NUM_ENVS)
    want = np.tile(plain, (STEPS, 1))
    assert len(batch.last) == 2, "every third of eight steps"
    if not solve:
        for end, obs in zip((2, 5), batch.last, strict=True):
            with torch.no_grad():
                rest = fast.policy.predict_values(torch.as_tensor(obs))[:, 0]
            want[end, ::2] += 0.9 * rest.numpy()
    np.testing.assert_allclose(fast.rollout_buffer.rewards, want, atol=1e-6)
    starts = fast.rollout_buffer.episode_starts
    assert starts[0].all()
    np.testing.assert_array_equal(np.flatnonzero(starts[1:, 0]) + 1, [3, 6])
    assert not starts[1:, 1].any()


def test_the_buffer_holds_what_was_seen_before_each_step() -> None:
    batch = CountingBatch(truncate_at=100)
    fast = filled(learner_on(batch))
    seen = fast.rollout_buffer.observations
    rng = np.random.default_rng(0)
    want = [rng.normal(size=(NUM_ENVS, SIZE)) for _ in range(STEPS)]
    np.testing.assert_allclose(seen, want, atol=1e-6)


@pytest.mark.integration
def test_equal_seeds_give_equal_weights_and_a_rest_is_left_out() -> None:
    learners = []
    for seed in (0, 0, 1):
        with pytest.warns(UserWarning, match="mini-batch size of 20"):
            learner = learner_on(CountingBatch(), batch_size=20, seed=seed)
        learners.append(learner.learn(3 * STEPS * NUM_ENVS))
    first, same, other = (
        torch.cat([p.detach().ravel() for p in learner.policy.parameters()])
        for learner in learners
    )
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_a_small_target_kl_stops_the_epochs() -> None:
    fast = filled(
        learner_on(CountingBatch(), learning_rate=0.1, n_epochs=50, target_kl=0.01)
    )
    fast.train()
    assert 1 <= fast._n_updates < 50


LAYOUT = ObservationLayout(
    (Part("gaze", 3, "1", "where it looks"), Part("speed", 1, "m/s", "of the head")),
    (Part("mass", 1, "kg", "of the body"),),
)


def spoiled_at(row: int, number: int, *, step: int) -> Callable[[Any], None]:
    """Make a number of an observation NaN at a step of the episode, 0 for its start."""

    def spoil(batch: CountingBatch) -> None:
        if batch.episode.steps[row] == step and batch.resets > 1 - step:
            batch.obs[row, number] = np.nan

    return spoil


def unrewarded(batch: CountingBatch) -> None:
    """A reward that overflows, though its term does not, from the second step on."""
    batch.rewards[4] = np.inf if batch.episode.steps[4] > 1 else 0.0


def misjudged(batch: CountingBatch) -> None:
    """A term of a reward that is not a number, from the second step on."""
    batch.terms["reward/fall"] = np.where(batch.episode.steps == 2, np.nan, 0.0)
    batch.rewards += batch.terms["reward/fall"]


@pytest.mark.parametrize(
    ("spoil", "layout", "error", "text"),
    [
        (
            spoiled_at(2, 3, step=1), LAYOUT, ObservationError,
            "environment 2, step 1 of its episode: observation number 3 is nan, in part "
            "'speed'; must be finite",
        ),
        (spoiled_at(1, 4, step=2), LAYOUT, ObservationError, "is nan, in part 'mass'"),
        (spoiled_at(1, 4, step=2), None, ObservationError, "number 4 is nan; must"),
        (
            spoiled_at(0, 0, step=0), LAYOUT, ObservationError,
            "environment 0, step 0 of its episode: observation number 0 is nan",
        ),
        (spoiled_at(2, 1, step=3), LAYOUT, ObservationError, "step 3 of its episode"),
        (
            misjudged, LAYOUT, RewardError,
            "environment 0, step 2 of its episode: reward term 'fall' is nan; must be "
            "finite",
        ),
        (unrewarded, None, RewardError, "environment 4, step 2 of its episode: reward is inf"),
    ],
)  # fmt: skip
def test_the_number_that_is_not_finite_is_named(
    spoil: Any, layout: Any, error: type[AmbuloError], text: str
) -> None:
    """Of steps, of new episodes, and of the last observation of a truncated one."""
    batch = CountingBatch()
    batch.spoil = spoil
    if layout is not None:
        batch.layout = layout  # type: ignore[attr-defined]
    with pytest.raises(error, match=re.escape(text)):
        filled(learner_on(batch))


def test_the_last_observation_of_a_terminated_episode_may_be_anything() -> None:
    batch = CountingBatch(solve=True)
    batch.spoil = spoiled_at(2, 1, step=3)
    seen = filled(learner_on(batch)).rollout_buffer.observations
    assert np.isnan(batch.last[0]).any()
    assert np.isfinite(seen).all()
