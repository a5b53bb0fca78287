"""Speed of PPO on VR navigation, side by side in one run, and that it learns the same.

All rows play the same task with one torch thread a process. The first two train the
same network with the hyper-parameters of `--preset full_training`, the shipped agent's;
ours alone also learns the auxiliary route loss, which SB3 lacks. The last two are what a
user of SB3 writes: its default network and hyper-parameters on the single environment.

    fast, compiled    our learner, compiled world (the default)
    sb3, compiled     SB3's own PPO, our batch environment
    sb3, subproc     SB3's own PPO with its default hyper-parameters, SubprocVecEnv(8)
    sb3, one env     SB3's own PPO with its default hyper-parameters, one environment

    python benchmarks/vr_training_speed.py --decisions 65536 --seeds 3
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch
from _harness import Options, write
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnvWrapper

import ambulo.envs  # noqa: F401  (registers the environment)
from ambulo.configs.presets.vr import preset
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.env import action_space
from ambulo.policies.learner import make_learner
from ambulo.policies.networks.actor_critic import NavigationPolicy
from ambulo.policies.sb3_batch_env import Sb3BatchEnv


class ScaledRewards(VecEnvWrapper):
    """What `ppo.reward_scale` does, for a learner that lacks it."""

    def __init__(self, venv: Sb3BatchEnv, scale: float) -> None:
        super().__init__(venv)
        self._scale = scale

    def reset(self) -> Any:
        return self.venv.reset()

    def step_wait(self) -> Any:
        obs, rewards, dones, infos = self.venv.step_wait()
        return obs, rewards * self._scale, dones, infos


def fast(config: NavigationConfig) -> PPO:
    """Our learner."""
    env = config.environment.num_environments
    batch = make_batch(config, env, seed=config.training.seed, privileged=True)
    return make_learner(config, Sb3BatchEnv(batch, action_space(config)))


def stock(config: NavigationConfig) -> PPO:
    """SB3's learner on the same network, environment and hyper-parameters."""
    ppo, network = config.ppo, config.network
    count = config.environment.num_environments
    batch = make_batch(config, count, seed=config.training.seed, privileged=True)
    env = ScaledRewards(Sb3BatchEnv(batch, action_space(config)), ppo.reward_scale)
    end = (
        ppo.learning_rate
        if ppo.learning_rate_final is None
        else ppo.learning_rate_final
    )
    return PPO(
        NavigationPolicy, env, n_steps=ppo.n_steps, batch_size=ppo.batch_size,
        n_epochs=ppo.n_epochs, gamma=ppo.gamma, gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip_range, ent_coef=ppo.ent_coef, vf_coef=ppo.vf_coef,
        max_grad_norm=ppo.max_grad_norm, seed=config.training.seed, device="cpu",
        learning_rate=lambda left: end + (ppo.learning_rate - end) * left,
        policy_kwargs={
            "scales": batch.layout.scales(), "actor_size": batch.layout.size,
            "widths": network.net_arch, "activation": network.activation_fn,
            "log_std_init": network.log_std_init, "optimizer_kwargs": {"eps": 1e-5},
        },
    )  # fmt: skip


def single_env() -> gymnasium.Env:
    """One environment of the shipped agent's task."""
    return gymnasium.make("ambulo/VRNavigation-v0", memory="map")


def subproc(config: NavigationConfig) -> PPO:
    """SB3's defaults with eight processes."""
    return PPO("MlpPolicy", SubprocVecEnv([single_env] * 8), device="cpu")


def one_env(config: NavigationConfig) -> PPO:
    """SB3's defaults with one environment."""
    return PPO("MlpPolicy", single_env(), device="cpu")


ROWS: dict[str, Callable[[NavigationConfig], PPO]] = {
    "fast, compiled": fast,
    "sb3, compiled": stock,
    "sb3, subproc": subproc,
    "sb3, one env": one_env,
}


class SuccessCurve(BaseCallback):
    """Success of recent episodes after each roll-out."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[int, float]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        recent = self.model.ep_success_buffer
        self.rows.append(
            (self.num_timesteps, float(np.mean(recent)) if recent else 0.0)
        )


def speed(
    make: Callable[[NavigationConfig], PPO], config: NavigationConfig, decisions: int
) -> float:
    """Decisions per second after one warm-up roll-out."""
    model = make(config)
    rollout = model.n_steps * model.n_envs
    model.learn(rollout, log_interval=None)
    began = time.perf_counter()
    model.learn(max(decisions, rollout), log_interval=None)
    rate = model.num_timesteps / (time.perf_counter() - began)  # whole roll-outs
    model.get_env().close()
    return rate


def curves(seeds: int) -> dict[str, list[float]]:
    """Success while training `quick_test`, ours and SB3's, mean of the seeds."""
    found = {}
    print("\nquick_test: success of the last 100 training episodes, mean of seeds")
    for name, make in (("fast", fast), ("sb3", stock)):
        rows = []
        for seed in range(seeds):
            config = preset("quick_test").override("training", seed=seed)
            model, curve = make(config), SuccessCurve()
            model.learn(10_240, callback=curve, log_interval=None)
            model.get_env().close()
            rows.append([value for _, value in curve.rows])
        mean = np.mean(rows, axis=0)
        found[name] = mean.tolist()
        print(f"{name:>6}: " + " ".join(f"{value:.2f}" for value in mean))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row per way to train."""
    parser = Options(__doc__, decisions=1024, seeds=1, repetitions=1)
    parser.add_argument("--decisions", type=int, default=65_536)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=3)
    args = parser.read(argv)
    torch.set_num_threads(1)
    rates: dict[str, list[float]] = {name: [] for name in ROWS}
    for _ in range(args.repetitions):
        for name, make in ROWS.items():
            budget = args.decisions if "compiled" in name else 16_384
            rates[name].append(speed(make, preset("full_training"), budget))
    print(f"{'':>14} {'decisions/s':>12} {'of fast, compiled':>16}")
    best = float(np.median(rates["fast, compiled"]))
    for name, values in rates.items():
        rate = float(np.median(values))
        print(f"{name:>14} {rate:12.0f} {rate / best:16.2f}")
    write({"decisions_per_second": rates, "quick_test": curves(args.seeds)}, args)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
