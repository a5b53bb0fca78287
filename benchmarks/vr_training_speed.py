"""Speed and memory of PPO on VR navigation, beside SB3's, and that both learn the same.

All rows play the same task with one torch thread a process. The first two train the same
network with the hyper-parameters of `full_training`; ours alone also learns the auxiliary
route loss, which SB3 lacks. The last two are what a user of SB3 writes: its default network
and hyper-parameters on the single environment.

    python benchmarks/vr_training_speed.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from _harness import run
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnvWrapper

import ambulo.envs  # noqa: F401  (registers the environment)
from ambulo.configs.presets import VR_PRESETS
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.env import action_space
from ambulo.policies.learner import make_learner
from ambulo.policies.networks.actor_critic import NavigationPolicy
from ambulo.policies.sb3_batch_env import Sb3BatchEnv

DEFAULTS = 16_384
"""Environment steps of the rows with SB3's defaults, which are slow."""


class ScaledRewards(VecEnvWrapper):
    """Wrapper that scales rewards as `ppo.reward_scale` does, for a learner without it."""

    def __init__(self, venv: Sb3BatchEnv, scale: float) -> None:
        super().__init__(venv)
        self._scale = scale

    def reset(self) -> Any:
        return self.venv.reset()

    def step_wait(self) -> Any:
        obs, rewards, dones, infos = self.venv.step_wait()
        return obs, rewards * self._scale, dones, infos


def ours(config: NavigationConfig) -> PPO:
    """Our learner."""
    count = config.environment.num_environments
    batch = make_batch(config, count, seed=config.training.seed, privileged=True)
    return make_learner(config, Sb3BatchEnv(batch, action_space(config)))


def stock(config: NavigationConfig) -> PPO:
    """SB3's learner on the same network, environment and hyper-parameters."""
    ppo, network = config.ppo, config.network
    count = config.environment.num_environments
    batch = make_batch(config, count, seed=config.training.seed, privileged=True)
    env = ScaledRewards(Sb3BatchEnv(batch, action_space(config)), ppo.reward_scale)
    rate, last = ppo.learning_rate, ppo.learning_rate_final
    end = rate if last is None else last
    return PPO(
        NavigationPolicy, env, n_steps=ppo.n_steps, batch_size=ppo.batch_size,
        n_epochs=ppo.n_epochs, gamma=ppo.gamma, gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip_range, ent_coef=ppo.ent_coef, vf_coef=ppo.vf_coef,
        max_grad_norm=ppo.max_grad_norm, seed=config.training.seed, device="cpu",
        learning_rate=lambda left: end + (rate - end) * left,
        policy_kwargs={
            "scales": batch.layout.scales(), "actor_size": batch.layout.size,
            "widths": network.net_arch, "activation": network.activation_fn,
            "log_std_init": network.log_std_init, "optimizer_kwargs": {"eps": 1e-5},
        },
    )  # fmt: skip


def single_env() -> gymnasium.Env:
    """One environment of the shipped agent's task."""
    return gymnasium.make("ambulo/VRNavigation-v0", memory="map")


ROWS: dict[str, Callable[[NavigationConfig], PPO]] = {
    "ambulo": ours,
    "sb3, our environment": stock,
    "sb3, eight processes": lambda _: PPO(
        "MlpPolicy", SubprocVecEnv([single_env] * 8), device="cpu"
    ),
    "sb3, one environment": lambda _: PPO("MlpPolicy", single_env(), device="cpu"),
}


class SuccessCurve(BaseCallback):
    """Success of recent episodes after each roll-out."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[float] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        recent = self.model.ep_success_buffer
        self.values.append(float(np.mean(recent)) if recent else 0.0)


def speed(model: PPO, steps: int) -> float:
    """Environment steps per second after one warm-up roll-out."""
    rollout = model.n_steps * model.n_envs
    model.learn(rollout, log_interval=None)
    began = time.perf_counter()
    model.learn(max(steps, rollout), log_interval=None)
    rate = model.num_timesteps / (time.perf_counter() - began)  # whole roll-outs
    model.get_env().close()
    return rate


def peak_mb() -> float:
    """Largest resident size of this process so far, [MB]."""
    import resource

    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (1e6 if sys.platform == "darwin" else 1e3)


def curve(make: Callable[[NavigationConfig], PPO], seeds: int) -> list[float]:
    """Success while training `quick_test`, mean of the seeds."""
    rows = []
    for seed in range(seeds):
        model, success = (
            make(VR_PRESETS.load("quick_test").override("training", seed=seed)),
            SuccessCurve(),
        )
        model.learn(10_240, callback=success, log_interval=None)
        model.get_env().close()
        rows.append(success.values)
    return [round(float(value), 3) for value in np.mean(rows, axis=0)]


def measure(
    steps: int = 65_536, seeds: int = 3, rounds: int = 3, envs: int = 64
) -> dict[str, Any]:
    """Steps a second of each way to train, memory, and curves."""
    torch.set_num_threads(1)
    config = VR_PRESETS.load("full_training").override(
        "environment", num_environments=envs
    )
    rates: dict[str, list[float]] = {name: [] for name in ROWS}
    imports, peak = peak_mb(), 0.0
    for _ in range(rounds):
        for name, make in ROWS.items():
            count = steps if make in (ours, stock) else min(steps, DEFAULTS)
            rates[name].append(speed(make(config), count))
            peak = peak or peak_mb()  # of the first: our learner
    return {
        "rows": {n: {"steps_per_s": float(np.median(v))} for n, v in rates.items()},
        "peak_mb": peak,
        "imports_mb": imports,
        "quick_test_success": {n: curve(ROWS[n], seeds) for n in list(ROWS)[:2]},
    }


if __name__ == "__main__":
    run(
        measure,
        {"steps": 512, "seeds": 1, "rounds": 1, "envs": 4},
        [("peak_mb", "<=", 1000.0)],
        needs="resource",
    )
