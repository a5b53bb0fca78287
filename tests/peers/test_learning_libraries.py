"""Environments in the learning libraries of others."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch

from ambulo.cli import main as ambulo


def test_torchrl_rolls_out(name: str) -> None:
    """Its `GymEnv` tries the keyword `frameskip` first, and checks all specifications."""
    pytest.importorskip("torchrl")
    from torchrl.envs import GymEnv
    from torchrl.envs.utils import check_env_specs

    env = GymEnv(name, step_limit=5)
    check_env_specs(env)
    rollout = env.rollout(12, break_when_any_done=False)
    assert rollout["next", "reward"].shape == (12, 1)
    assert int(rollout["next", "done"].sum()) >= 2


def test_tianshou_collects(name: str) -> None:
    """Its buffer wants the same keys of `info` from resets and steps."""
    pytest.importorskip("tianshou")
    from tianshou.algorithm import PPO
    from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.data import Collector, VectorReplayBuffer
    from tianshou.env import DummyVectorEnv
    from tianshou.utils.net.common import Net
    from tianshou.utils.net.continuous import (
        ContinuousActorProbabilistic,
        ContinuousCritic,
    )
    from tianshou.utils.torch_utils import policy_within_training_step

    envs = DummyVectorEnv(
        [lambda: gymnasium.make(name, step_limit=10) for _ in range(3)]
    )
    space = envs.action_space[0]
    size, actions = envs.observation_space[0].shape, space.shape
    actor = ContinuousActorProbabilistic(
        preprocess_net=Net(state_shape=size, hidden_sizes=[16]), action_shape=actions
    )
    policy = ProbabilisticActorPolicy(
        actor=actor,
        dist_fn=lambda row: torch.distributions.Independent(
            torch.distributions.Normal(*row), 1
        ),
        action_space=space,
    )
    learner = PPO(
        policy=policy,
        critic=ContinuousCritic(
            preprocess_net=Net(state_shape=size, hidden_sizes=[16])
        ),
        optim=AdamOptimizerFactory(lr=1e-3),
    )
    buffer = VectorReplayBuffer(300, 3)
    collector = Collector[object](policy, envs, buffer)
    collector.reset()
    stats = collector.collect(n_step=60)
    assert stats.n_collected_episodes >= 3
    assert {"is_success", "fell"} <= set(buffer.info.keys())
    with policy_within_training_step(policy):
        learner.update(buffer=buffer, batch_size=16, repeat=1)


def test_skrl_steps_vector_environments(name: str) -> None:
    """Named, as its automatic choice looks only at the last class's own bases."""
    pytest.importorskip("skrl")
    from skrl.envs.wrappers.torch import wrap_env

    env = wrap_env(gymnasium.make_vec(name, num_envs=2), wrapper="gymnasium")
    obs, _ = env.reset()
    assert obs.shape[0] == 2
    size = env.action_space.shape[0]
    for _ in range(3):
        obs, reward, *_ = env.step(torch.zeros(2, size))
    assert reward.shape == (2, 1)


def test_minari_records_and_gives_back(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env = minari.DataCollector(gymnasium.make(name, step_limit=12), record_infos=True)
    seen = []
    for seed in range(2):
        seen.append(env.reset(seed=seed)[0])
        ended = False
        while not ended:
            *_, terminated, truncated, _ = env.step(env.action_space.sample())
            ended = terminated or truncated
    label = "ambulo/trial-v0"
    env.create_dataset(label, algorithm_name="random", author="none")
    found = minari.load_dataset(label)
    assert found.total_episodes == 2
    for episode, first in zip(found, seen, strict=True):
        np.testing.assert_array_equal(episode.observations[0], first)
        assert "is_success" in episode.infos
    again = found.recover_environment()
    np.testing.assert_array_equal(again.reset(seed=0)[0], seen[0])


@pytest.mark.parametrize("wrapped", ["ClipReward", "NormalizeReward"])
def test_gymnasiums_vector_wrappers(name: str, wrapped: str) -> None:
    env = gymnasium.make_vec(name, num_envs=3, step_limit=6)
    env = gymnasium.wrappers.vector.NormalizeObservation(env)
    if wrapped == "ClipReward":
        env = gymnasium.wrappers.vector.ClipReward(env, -1.0, 1.0)
    else:
        env = gymnasium.wrappers.vector.NormalizeReward(env)
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(env)
    env.reset(seed=1)
    episodes = 0
    for _ in range(20):
        *_, infos = env.step(env.action_space.sample())
        episodes += int(np.sum(infos.get("_episode", 0)))
    assert episodes >= 3


def test_rl_zoo3_trains_with_our_hyper_parameters(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its own command, with the file of docs/, and our command evaluates what it saves."""
    pytest.importorskip("rl_zoo3")
    root = Path(__file__).resolve().parents[2]
    name = "ambulo/VRNavigation-v0"
    subprocess.run(
        [
            sys.executable, "-m", "rl_zoo3.train", "--algo", "ppo", "--env", name,
            "--gym-packages", "ambulo.envs", "-n", "600", "-f", str(tmp_path),
            "--conf-file", str(root / "docs" / "rl_zoo3_ppo.yml"), "--n-eval-envs", "1",
            "-params", "n_envs:2", "n_steps:64", "batch_size:64", "n_epochs:1",
            "normalize:True",
        ],
        check=True,
        cwd=tmp_path,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    (saved,) = tmp_path.glob("ppo/*/*VRNavigation*.zip")
    assert ambulo(["eval", str(saved), "--episodes", "4"]) == 0
    assert "vecnormalize.pkl" in caplog.text


def test_copies_for_other_processes(name: str) -> None:
    """Spawned workers make the environment by an id that names its module."""
    context = "spawn"
    env = gymnasium.make_vec(
        f"ambulo.envs:{name}",
        num_envs=2,
        vectorization_mode="async",
        vector_kwargs={"context": context},
    )
    env.reset(seed=0)
    obs, *_ = env.step(np.zeros(env.action_space.shape, np.float32))
    assert obs.shape[0] == 2
    env.close()
    assert pickle.loads(pickle.dumps(gymnasium.make(name))) is not None
