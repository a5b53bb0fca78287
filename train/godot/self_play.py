"""Self-play: the other teams of a game are played by past selves of the policy."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from torch import Tensor

from ambulo.configs.arrays import Ints
from ambulo.configs.batch import BatchStep
from ambulo.configs.godot import SelfPlayConfig
from ambulo.evaluate.game.agents import AgentsBatch, RowsOfEpisodes
from ambulo.policies.kinds.game import RETURNS
from ambulo.policies.networks.kinds_policy import KindsPolicy, make_kinds_policy
from ambulo.train.shared.callbacks import BoundaryCallback, crossed

POOL = "pool"
"""Beginning of the names of past selves in a checkpoint."""


class SelfPlayBatch:
    """The rows of one team of each engine; past selves act in those of the others.

    The learner's team is another one in each engine, so that it learns every side where there
    are as many engines as teams.
    """

    def __init__(
        self, batch: AgentsBatch, config: SelfPlayConfig, policy: KindsPolicy, seed: int
    ) -> None:
        """Divide the rows of `batch`, not yet reset; all selves act as `policy` at first."""
        self.inner, self.config = batch, config
        self.kinds = batch.kinds
        self._rng = np.random.default_rng([seed, 5])
        own = learning_rows(batch)
        self.own, self._others = np.flatnonzero(own), np.flatnonzero(~own)
        self.num_envs = len(self.own)
        self.obs = batch.obs[self.own]
        network = policy.network
        self._self = make_kinds_policy(policy.kinds, network).eval()
        self._self.requires_grad_(False)
        self._states = torch.zeros(batch.num_envs, network.recurrent)
        self.pool: deque[dict[str, Tensor]] = deque(maxlen=config.pool)
        """Weights of the past selves, oldest first."""
        self._opponent = np.zeros(batch.num_envs, np.int64)
        self.remember(policy)

    @property
    def episode(self) -> RowsOfEpisodes:
        """Totals of the running episodes of the learner's rows."""
        return RowsOfEpisodes(self.inner.episode, self.own)

    @property
    def rngs(self) -> list[np.random.Generator]:
        """Generators of the learner's rows."""
        return [self.inner.rngs[row] for row in self.own]

    @property
    def layout(self) -> Any:
        """Names of the parts of a row."""
        return self.inner.layout

    def remember(self, policy: KindsPolicy) -> None:
        """Add the weights of `policy` to the pool."""
        weights = policy.state_dict().items()
        self.pool.append({name: t.detach().cpu().clone() for name, t in weights})
        self._opponent = np.minimum(self._opponent, len(self.pool) - 1)

    def seed(self, seeds: Sequence[int | None]) -> None:
        """Seed the learner's rows; the others follow from them."""
        everyone: list[int | None] = [None] * self.inner.num_envs
        for row, seed in zip(self.own, seeds, strict=True):
            everyone[row] = seed
        first = next((seed for seed in seeds if seed is not None), None)
        if first is not None:
            rng = np.random.default_rng([first, 7])
            for row in self._others:
                everyone[row] = int(rng.integers(2**31))
        self.inner.seed(everyone)

    def reset(self, envs: Ints) -> NDArray[np.float32]:
        """Begin new episodes in rows `envs` of the learner, with all others if they are all."""
        rows = self.own[envs]
        if len(envs) == self.num_envs:
            rows = np.arange(self.inner.num_envs)
        self._begin(rows)
        self.inner.reset(rows)
        return self._seen()

    def step(self, actions: NDArray[Any]) -> BatchStep:
        """Advance everyone by one step."""
        rows = np.zeros((self.inner.num_envs, actions.shape[1]), np.float32)
        rows[self.own] = actions
        rows[self._others] = self._acted()
        _, rewards, terminated, truncated, info = self.inner.step(rows)
        ended = self._others[(terminated | truncated)[self._others]]
        own = self.own
        result = (
            self.inner.obs[own].copy(), rewards[own].copy(), terminated[own].copy(),
            truncated[own].copy(), {name: values[own] for name, values in info.items()},
        )  # fmt: skip
        self.obs = result[0]
        if len(ended):
            self._begin(ended)
            self.inner.reset(ended)
        return result

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return what is kept between steps; a game keeps its own state to itself."""
        return self.inner.state_dict()

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Continue from `state_dict`."""
        self.inner.load_state_dict(arrays)

    def pool_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the past selves as `pool.<number>.<weight>`, for a checkpoint."""
        return {
            f"{POOL}.{number}.{name}": tensor.numpy()
            for number, weights in enumerate(self.pool)
            for name, tensor in weights.items()
        }

    def load_pool(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Continue with the past selves of `pool_arrays`.

        Those of files that were written before there were statistics of returns have none.
        """
        found: dict[int, dict[str, Tensor]] = {}
        fresh = self._self.state_dict()
        unknown = {n: fresh[n].clone() for n in fresh if n.startswith(RETURNS)}
        for full, array in arrays.items():
            start, _, rest = full.partition(".")
            if start == POOL:
                number, _, name = rest.partition(".")
                weights = found.setdefault(int(number), dict(unknown))
                weights[name] = torch.from_numpy(np.array(array))
        self.pool = deque((found[k] for k in sorted(found)), maxlen=self.config.pool)

    def close(self) -> None:
        """Free the engines."""
        self.inner.close()

    def _seen(self) -> NDArray[np.float32]:
        self.obs = self.inner.obs[self.own].copy()
        return self.obs

    def _begin(self, rows: Ints) -> None:
        """Draw who plays the episodes that begin in `rows`, one for each engine."""
        self._states[torch.as_tensor(rows)] = 0.0
        for engine in np.unique(self.inner.engine[rows]):
            chosen = len(self.pool) - 1
            if self._rng.random() >= self.config.latest:
                chosen = int(self._rng.integers(len(self.pool)))
            own = rows[self.inner.engine[rows] == engine]
            self._opponent[own] = chosen

    def _acted(self) -> NDArray[np.float32]:
        """Sampled actions of the past selves, (k, width)."""
        rows = self._others
        seen = torch.as_tensor(self.inner.obs[rows])
        acted = np.zeros((len(rows), self._self.width), np.float32)
        for number in np.unique(self._opponent[rows]):
            which = np.flatnonzero(self._opponent[rows] == number)
            self._self.load_state_dict(self.pool[number])
            with torch.inference_mode():
                at = torch.as_tensor(rows[which])
                found = self._self.act(seen[which], self._states[at])
            acted[which], self._states[at] = found[0].numpy(), found[3].clone()
        return acted


class Snapshots(BoundaryCallback):
    """Adds the policy to the pool of its past selves now and then."""

    def __init__(self, batch: SelfPlayBatch) -> None:
        """Add to the pool of `batch`."""
        super().__init__()
        self._batch = batch

    def at_boundary(self, before: int, now: int) -> None:
        """Add the policy if it is time."""
        learner = self.model
        policy: Any = learner.policy
        assert isinstance(policy, KindsPolicy)
        if crossed(before, now, self._batch.config.snapshot_freq):
            self._batch.remember(policy)


def learning_rows(batch: AgentsBatch) -> NDArray[np.bool_]:
    """Return which rows the learner plays where past selves play the others, (N,).

    Of kinds in several teams, engine k gives it team k modulo their number.
    """
    own = np.ones(batch.num_envs, np.bool_)
    for index in range(len(batch.kinds)):
        rows = batch.kind == index
        count = int(batch.team[rows].max()) + 1
        if count > 1:
            own[rows] = batch.team[rows] == batch.engine[rows] % count
    return own


def has_teams(batch: AgentsBatch) -> bool:
    """Whether agents of one kind stand in several teams."""
    return bool((batch.team > 0).any())


def callbacks_of(batch: object) -> list[BaseCallback]:
    """Return what keeps the pool of `batch`, if it has one."""
    return [Snapshots(batch)] if isinstance(batch, SelfPlayBatch) else []
