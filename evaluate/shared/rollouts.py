"""Episodes of an agent in its environment, recorded step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ambulo.evaluate.shared.minari_data import EpisodeArrays


class ActingAgent(Protocol):
    """What acts in the environments."""

    def act(self, obs: NDArray[Any], *, deterministic: bool = True) -> NDArray[Any]:
        """Return actions (N, A) for observations (N, size)."""
        ...


@dataclass
class _Record:
    """The steps of one environment's episode so far."""

    seed: int | None
    observations: list[NDArray[Any]]
    actions: list[NDArray[Any]] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    terminations: list[bool] = field(default_factory=list)
    truncations: list[bool] = field(default_factory=list)
    infos: dict[str, list[Any]] = field(default_factory=dict)

    def episode(self) -> EpisodeArrays:
        """Return it as arrays."""
        return EpisodeArrays(
            np.array(self.observations),
            np.array(self.actions),
            np.array(self.rewards, np.float64),
            np.array(self.terminations, np.bool_),
            np.array(self.truncations, np.bool_),
            {name: np.array(values) for name, values in self.infos.items()},
            self.seed,
        )


def rollouts(
    agent: ActingAgent,
    env: gymnasium.vector.VectorEnv[Any, Any, Any],
    episodes: int,
    *,
    seed: int = 0,
    deterministic: bool = True,
) -> Iterator[EpisodeArrays]:
    """Yield whole episodes, each when it ends.

    How many each environment plays is fixed beforehand, so that short episodes are not
    preferred. Environment i has the seed `seed` + i.

    Args:
        agent: What acts.
        env: N environments that reset by themselves one step after an episode's end
            (`AutoresetMode.NEXT_STEP`), with flat observations.
        episodes: Number of episodes, at least N.
        seed: Of everything random.
        deterministic: Mean instead of sampled actions.
    """
    count = env.num_envs
    left = np.full(count, episodes // count)
    left[: episodes % count] += 1
    obs, _ = env.reset(seed=seed)
    records = [_Record(seed + i, [obs[i].copy()]) for i in range(count)]
    begins = np.zeros(count, np.bool_)
    while left.any():
        actions = agent.act(obs, deterministic=deterministic)
        obs, rewards, terminated, truncated, infos = env.step(actions)
        names = _numbers(infos, count)
        for i in np.flatnonzero(left):
            if begins[i]:  # this step was a reset
                records[i] = _Record(None, [obs[i].copy()])
                continue
            record = records[i]
            record.observations.append(obs[i].copy())
            record.actions.append(actions[i].copy())
            record.rewards.append(float(rewards[i]))
            record.terminations.append(bool(terminated[i]))
            record.truncations.append(bool(truncated[i]))
            for name in names:
                record.infos.setdefault(name, []).append(infos[name][i])
            if terminated[i] or truncated[i]:
                left[i] -= 1
                yield record.episode()
        begins = terminated | truncated


def _numbers(infos: Mapping[str, Any], count: int) -> Sequence[str]:
    """Return the infos that are a number of each environment."""
    return [
        name
        for name, values in infos.items()
        if not name.startswith("_")
        and isinstance(values, np.ndarray)
        and values.shape == (count,)
        and values.dtype.kind in "bif"
    ]
