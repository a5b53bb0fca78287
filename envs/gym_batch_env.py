"""A task batch as a Gymnasium vector environment: one step, no Python loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ambulo.configs.batch import SeededBatch
from ambulo.configs.errors import ConfigError, nearest
from ambulo.envs.compiling import log_compilation
from ambulo.envs.spec import TimeLimitInSpec

log_compilation()


def autoreset_mode_of(mode: AutoresetMode | str) -> AutoresetMode:
    """Return the autoreset mode of that name; `ConfigError` for an unknown name."""
    try:
        return AutoresetMode(mode)
    except ValueError:
        hint = nearest(str(mode), [m.value for m in AutoresetMode])
        raise ConfigError(f"unknown autoreset_mode {mode!r}{hint}") from None


def check_many(num_envs: int, render_mode: str | None) -> None:
    """Raise `ConfigError` for `num_envs` below 1 or any render mode."""
    if render_mode is not None:
        raise ConfigError(
            f"render_mode = {render_mode!r}: a vector environment draws no pictures; use "
            "gymnasium.make, or vectorization_mode='sync'"
        )
    if isinstance(num_envs, bool) or not isinstance(num_envs, int | np.integer):
        raise ConfigError(f"num_envs = {num_envs!r}: must be a whole number")
    if num_envs < 1:
        raise ConfigError(f"num_envs = {num_envs}: must be at least 1")


class GymBatchEnv(TimeLimitInSpec, VectorEnv[Any, Any, Any]):
    """N environments of a task batch stepped together.

    Each environment has its own generator: `reset(seed=s)` seeds environment i with s + i, and
    a list of seeds seeds them one by one (None keeps a generator); with a `reset_mask`, only
    environments that are reset are seeded. So the episodes of an environment do not depend on
    N.

    `autoreset_mode` is NEXT_STEP, as in Gymnasium's own vector environments; SAME_STEP, which
    saves a step an episode (last observations in `infos["final_obs"]`, their infos in
    `infos["final_info"]`); or DISABLED (reset with `options={"reset_mask": m}`).
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        batch: SeededBatch,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        split: Callable[[NDArray[np.float32]], Any] | None = None,
    ) -> None:
        """Wrap `batch`, not yet reset.

        Args:
            batch: N environments.
            observation_space: Space of one environment.
            action_space: Space of one environment.
            autoreset_mode: When finished environments are reset.
            split: Turns observation rows into batches of `observation_space`; None leaves
                them flat.
        """
        self.batch = batch
        self.num_envs = batch.num_envs
        self.autoreset_mode = autoreset_mode_of(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = observation_space
        self.single_action_space = action_space
        self.observation_space = batch_space(observation_space, self.num_envs)
        self.action_space = batch_space(action_space, self.num_envs)
        self._split = split
        self._finished = np.zeros(self.num_envs, np.bool_)
        for env in range(self.num_envs):  # fresh entropy unless `reset` seeds them
            self.batch.rngs[env] = np.random.default_rng()

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all environments, or those where `options["reset_mask"]` is true."""
        mask = (options or {}).get("reset_mask")
        chosen = np.ones(self.num_envs, np.bool_) if mask is None else np.asarray(mask)
        if chosen.shape != (self.num_envs,) or chosen.dtype != np.bool_:
            raise ConfigError(f"reset_mask must be {self.num_envs} booleans")
        if not chosen.any():
            raise ConfigError("reset_mask is false everywhere: nothing to reset")
        if seed is not None:
            seeds = self._seeds(seed)
            self.batch.seed(
                [s if c else None for s, c in zip(seeds, chosen, strict=True)]
            )
        self.batch.reset(np.flatnonzero(chosen))
        self._finished[chosen] = False
        infos: dict[str, Any] = {}
        for name, values in self.batch.start_info().items():
            infos[name] = values.copy()
            infos[name][~chosen] = None if values.dtype == object else 0
        return self._observation(self.batch.obs), infos | _masks(infos, chosen)

    def _seeds(self, seed: int | Sequence[int | None]) -> list[int | None]:
        """One seed for each environment; `ConfigError` for unusable seeds."""
        whole = int | np.integer
        if isinstance(seed, whole):
            seeds: list[int | None] = [int(seed) + i for i in range(self.num_envs)]
        elif isinstance(seed, Sequence | np.ndarray):
            seeds = list(seed)
        else:
            raise ConfigError(
                f"seed = {seed!r:.80}: must be an integer or a list of them"
            )
        if len(seeds) != self.num_envs:
            raise ConfigError(
                f"got {len(seeds)} seeds for {self.num_envs} environments"
            )
        for value in seeds:
            if value is not None and not (isinstance(value, whole) and value >= 0):
                raise ConfigError(
                    f"seed = {value!r:.80}: must be an integer of at least 0"
                )
        return seeds

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Any]:
        """Advance every environment by one step."""
        waiting = self._finished.copy()
        if self.autoreset_mode == AutoresetMode.DISABLED and waiting.any():
            raise ConfigError(
                f"environment {int(np.flatnonzero(waiting)[0])} has finished: reset it with "
                "options={'reset_mask': ...} before the next step"
            )
        if waiting.any() and np.shape(actions)[:1] == (self.num_envs,):
            actions = np.array(actions)
            actions[waiting] = 0
        kept = {
            env: self.batch.rngs[env].bit_generator.state
            for env in np.flatnonzero(waiting)
        }
        obs, reward, terminated, truncated, arrays = self.batch.step(
            np.asarray(actions)
        )
        for env, state in kept.items():
            self.batch.rngs[env].bit_generator.state = state
        arrays = {**arrays, **self.batch.episode_info()}
        infos: dict[str, Any] = {**arrays, **_masks(arrays, ~waiting)}
        done = terminated | truncated
        if self.autoreset_mode == AutoresetMode.SAME_STEP and done.any():
            infos["final_obs"] = self._final(obs, done)
            infos["_final_obs"] = done.copy()
            infos["final_info"] = {
                **{name: values.copy() for name, values in arrays.items()},
                **_masks(arrays, done),
            }
            infos["_final_info"] = done.copy()
            self.batch.reset(np.flatnonzero(done))
            infos |= self._with_starts(arrays, done)
        elif self.autoreset_mode == AutoresetMode.NEXT_STEP:
            if waiting.any():
                self.batch.reset(np.flatnonzero(waiting))
                infos |= self._with_starts(arrays, waiting)
                reward = np.where(waiting, 0.0, reward)
                terminated, truncated = terminated & ~waiting, truncated & ~waiting
            self._finished = terminated | truncated
        else:
            self._finished = done.copy()
        return (
            self._observation(obs),
            reward,
            terminated.copy(),
            truncated.copy(),
            infos,
        )

    def _with_starts(
        self, arrays: Mapping[str, NDArray[Any]], begun: NDArray[np.bool_]
    ) -> dict[str, Any]:
        """Merge the infos of a step with those of the reset where an episode has begun."""
        start = self.batch.start_info()
        infos = {n: np.where(begun, start[n], values) for n, values in arrays.items()}
        return {**infos, **_masks(infos, np.ones_like(begun))}

    def close_extras(self, **kwargs: Any) -> None:
        """Free the batch."""
        self.batch.close()

    def _observation(self, obs: NDArray[np.float32]) -> Any:
        return obs.copy() if self._split is None else self._split(obs)

    def _final(
        self, obs: NDArray[np.float32], done: NDArray[np.bool_]
    ) -> NDArray[np.object_]:
        """Last observations of finished environments, as Gymnasium's object array."""
        final = np.full(self.num_envs, None, dtype=object)
        for env in np.flatnonzero(done):
            row = obs[env : env + 1]
            if self._split is None:
                final[env] = row[0].copy()
            else:
                parts = self._split(row)
                final[env] = first_row(parts)
        return final


def first_row(observation: Any) -> Any:
    """Return the first of a batch of observations, an array or a dictionary of arrays."""
    if isinstance(observation, Mapping):
        return {name: part[0] for name, part in observation.items()}
    return observation[0]


def _masks(
    infos: Mapping[str, Any], chosen: NDArray[np.bool_]
) -> dict[str, NDArray[np.bool_]]:
    """Gymnasium's `_<name>` of each info: where it is given."""
    return {f"_{name}": chosen.copy() for name in infos}
