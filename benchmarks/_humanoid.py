"""Gymnasium's Humanoid-v5, its whole task, as a batch for our vector environment.

Observation (348), reward, termination and reset noise as in Gymnasium's
`envs/mujoco/humanoid_v5.py`, from the arrays of `mujoco.batch`. External forces need
`mj_rnePostConstraint`, which a batch only runs for sensors of force: one is added to the
model, so they are computed in each of the five physics steps and not only after the last.
They are those of the last step's beginning, where Gymnasium's are of its last stage; all else
is equal.

    python benchmarks/_humanoid.py      compares 200 steps with Gymnasium's
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium import spaces
from mujoco.batch import Batch
from numpy.typing import NDArray

from ambulo.envs.gym_batch_env import GymBatchEnv
from ambulo.envs.locomotion.episode import EpisodeState

SKIP = 5
NOISE = 0.01
LIMIT = 1000
PARTS = ("reward_forward", "reward_ctrl")


def humanoid_model() -> mujoco.MjModel:
    """The model of Humanoid-v5 with a force sensor."""
    folder = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    spec = mujoco.MjSpec.from_file(str(folder / "humanoid.xml"))
    torso = spec.body("torso")
    torso.add_site(name="force_site")
    spec.add_sensor(
        type=mujoco.mjtSensor.mjSENS_FORCE,
        objtype=mujoco.mjtObj.mjOBJ_SITE,
        objname="force_site",
    )
    return spec.compile()


class HumanoidBatch:
    """N humanoids, with the methods that `GymBatchEnv` calls."""

    def __init__(self, count: int) -> None:
        """Bodies at rest; `reset` before use."""
        self.num_envs = count
        self.model = humanoid_model()
        self._batch = Batch(self.model, count, 1, persistent=True)
        self._dt = SKIP * self.model.opt.timestep
        self._mass = self.model.body_mass / self.model.body_mass.sum()
        names = ("qpos", "qvel", "ctrl", "cinert", "cvel", "qfrc_actuator")
        for name in (*names, "cfrc_ext", "xipos"):
            setattr(self, f"_{name}", self._batch.bind(name))
        self.episode = EpisodeState.zeros(count)
        self.obs = np.zeros((count, 348), np.float32)
        self.rngs = [np.random.default_rng(seed) for seed in range(count)]

    def seed(self, seeds: Sequence[int | None]) -> None:
        """Seed the generator of each body whose seed is not None."""
        for row, seed in enumerate(seeds):
            if seed is not None:
                self.rngs[row] = np.random.default_rng(seed)

    def reset(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """New episodes of `rows`."""
        self._batch.reset(rows.astype(np.int32))
        nq, nv = self.model.nq, self.model.nv
        for row in rows:
            noise = self.rngs[row].uniform(-NOISE, NOISE, nq + nv)
            self._qpos[row] = self.model.qpos0 + noise[:nq]
            self._qvel[row] = noise[nq:]
        self._batch.forward(rows.astype(np.int32))
        self.episode.clear(rows)
        self._observe()
        return self.obs

    def step(self, actions: NDArray[np.floating]) -> tuple[Any, ...]:
        """One control step: observation, reward, terminated, truncated, parts."""
        before = self._mass @ self._xipos[:, :, 0].T
        self._ctrl[:] = actions
        self._batch.step(nstep=SKIP)
        forward = 1.25 * (self._mass @ self._xipos[:, :, 0].T - before) / self._dt
        healthy = (self._qpos[:, 2] > 1.0) & (self._qpos[:, 2] < 2.0)
        control = 0.1 * np.square(self._ctrl).sum(axis=1)
        contact = np.minimum(5e-7 * np.square(self._cfrc_ext).sum(axis=(1, 2)), 10.0)
        self.episode.steps[:] += 1
        self._observe()
        parts = dict(zip(PARTS, (forward, -control), strict=True))
        reward = forward + 5.0 * healthy - control - contact
        self.episode.reward[:] += reward
        return self.obs, reward, ~healthy, self.episode.steps >= LIMIT, parts

    def episode_info(self) -> dict[str, NDArray[Any]]:
        """Nothing but what a step tells."""
        return {}

    def start_info(self) -> dict[str, NDArray[Any]]:
        """The parts of the reward, all 0."""
        return {name: np.zeros(self.num_envs) for name in PARTS}

    def close(self) -> None:
        """Nothing is open."""

    def _observe(self) -> None:
        n = self.num_envs
        fields = (
            self._qpos[:, 2:],
            self._qvel,
            self._cinert[:, 1:].reshape(n, -1),
            self._cvel[:, 1:].reshape(n, -1),
            self._qfrc_actuator[:, 6:],
            self._cfrc_ext[:, 1:].reshape(n, -1),
        )
        np.concatenate(fields, axis=1, out=self.obs, casting="same_kind")


def humanoid_vector_env(count: int) -> GymBatchEnv:
    """Humanoid-v5 as a vector environment of ours."""
    batch = HumanoidBatch(count)
    return GymBatchEnv(
        batch,
        spaces.Box(-np.inf, np.inf, (348,), np.float32),
        spaces.Box(-0.4, 0.4, (batch.model.nu,), np.float32),
    )


def main() -> None:
    """Print how far 200 steps from one state are from Gymnasium's."""
    env = gymnasium.make("Humanoid-v5").unwrapped
    env.reset(seed=0)
    batch = HumanoidBatch(1)
    batch.reset(np.arange(1))
    batch._qpos[0], batch._qvel[0] = env.data.qpos, env.data.qvel  # type: ignore[attr-defined]
    batch._batch.forward(np.zeros(1, np.int32))
    rng = np.random.default_rng(0)
    worst = np.zeros(2)
    forces = 78
    for _ in range(200):
        action = rng.uniform(-0.4, 0.4, batch.model.nu)
        obs, _, terminated, _, info = env.step(action)
        ours, _, fallen, _, parts = batch.step(action[None])
        apart = np.abs(ours[0] - obs)[:-forces] / (1.0 + np.abs(obs[:-forces]))
        worst[0] = max(worst[0], apart.max())
        forward = parts["reward_forward"][0] - info["reward_forward"]
        worst[1] = max(worst[1], abs(float(forward)))
        if bool(fallen[0]) != terminated:
            raise SystemExit("terminations differ")
    print(f"largest difference: observation {worst[0]:.1e}, reward {worst[1]:.1e}")


if __name__ == "__main__":
    main()
