"""Gait: envs whose bodies and gaits have parameters, several different bodies at once."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import ActionError, ConfigError, MotionError
from ambulo.configs.gait import gait_space
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.reference import Reference
from ambulo.envs.tasks.gait.group import GaitGroup
from ambulo.envs.tasks.gait.sampling import healthy_parameters, random_parameters
from ambulo.envs.tasks.locomotion.batch import Info
from ambulo.envs.tasks.locomotion.body import BodyState
from ambulo.envs.tasks.locomotion.episode import EpisodeState
from ambulo.envs.tasks.locomotion.wrappers import concatenated

log = logging.getLogger(__name__)

Arrays = dict[str, NDArray[Any]]

_TRIES = 20
"""Parameters drawn before one gives up to find a gait that can be made."""


class GaitBatch:
    """N envs in groups; the envs of a group share a body, whose life is limited.

    MuJoCo steps copies of one model together, so that a group is a batch of its own. When
    a group's life (`gait.lifetime`) is over, its episodes are truncated, and with the
    reset of all its envs it gets another body. A group of one env gets one with
    every reset. Parameters are drawn by the generator of the group's first env.
    """

    def __init__(
        self,
        config: LocomotionConfig,
        reference: Reference,
        character: Character,
        *,
        num_envs: int,
        threads: int = 1,
        parameters: ArrayLike | None = None,
    ) -> None:
        """Envs not yet reset.

        Args:
            config: All settings.
            reference: The healthy gait with its balance controller.
            character: The healthy body.
            num_envs: N.
            threads: CPU threads for the physics.
            parameters: One row for each group, that stays; there are as many groups as
                rows. Shape (G, P).

        Raises:
            GaitParameterError: A fixed parameter that is unknown or out of range.
        """
        self.config, self.reference = config, reference
        self.space = gait_space(config.environment.character)
        self.num_envs, self._threads = num_envs, threads
        count = min(config.gait.groups, num_envs)
        rows = np.tile(healthy_parameters(config, reference), (count, 1))
        if parameters is not None:
            rows = np.asarray(parameters, dtype=np.float64)
            self.space.check(rows)
            count = len(rows)
        self._edges = np.linspace(0, num_envs, count + 1).round().astype(np.int64)
        self.groups = [self._group(g, row) for g, row in enumerate(rows)]
        """The groups, in the order of their envs."""
        self._left = np.zeros(count, dtype=np.int64)
        self._pinned = np.full(count, parameters is not None)
        first = self.groups[0]
        self.layout, self.action_size = first.layout, first.action_size
        self.obs = np.zeros((num_envs, self.layout.size), np.float32)

    def __getattr__(self, name: str) -> Any:
        """What all groups share is the first one's."""
        if name.startswith("_") or name == "groups":
            raise AttributeError(name)
        return getattr(self.groups[0], name)

    @property
    def episode(self) -> EpisodeState:
        """Totals of the running episodes of all bodies."""
        return concatenated([group.episode for group in self.groups])

    @property
    def state(self) -> BodyState:
        """State of all bodies after the last step."""
        return concatenated([group.state for group in self.groups])

    @property
    def rngs(self) -> list[np.random.Generator]:
        """One generator for each env."""
        return _Generators(self)

    @property
    def parameters(self) -> Floats:
        """The parameters of each env. Shape (N, P)."""
        sizes = np.diff(self._edges)
        return np.repeat([group.values for group in self.groups], sizes, axis=0)

    def phases(self) -> Floats:
        """Phase of each env, [0, 1). Shape (N,)."""
        return np.concatenate([group.phase for group in self.groups])

    def positions(self) -> Floats:
        """The 56 published positions of each env. Shape (N, 56)."""
        return np.concatenate([group.positions() for group in self.groups])

    def seed(self, seeds: Sequence[int | None]) -> None:
        """Seed the generator of each env whose seed is not None; new bodies follow."""
        for group, rows in zip(self.groups, self._rows(), strict=True):
            group.seed(seeds[rows])
        self._left[:] = 0

    def set_parameters(self, group: int, values: ArrayLike) -> None:
        """Give a group's envs the body of `values` (P,), for good; reset them next.

        Raises:
            GaitParameterError: A value out of range.
            MotionError: Parameters whose gait the body cannot make.
        """
        self.space.check(values)
        self._replace(group, self._group(group, np.asarray(values, dtype=np.float64)))
        self._pinned[group] = True

    def reset(self, envs: Ints, *, phases: Floats | None = None) -> NDArray[np.float32]:
        """Begin new episodes of `envs` (k,), at `phases` (k,) or as configured."""
        for g, rows in enumerate(self._rows()):
            mine = (envs >= rows.start) & (envs < rows.stop)
            if not mine.any():
                continue
            own = envs[mine] - rows.start
            whole = len(own) == rows.stop - rows.start
            if whole and not self._pinned[g] and (self._left[g] <= 0 or len(own) == 1):
                self._renew(g)
            at = None if phases is None else phases[mine]
            self.groups[g].reset(own, phases=at)
        return self._shown()

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[np.float32], Floats, Bools, Bools, Info]:
        """One control step of all; see `LocomotionBatch.step`.

        `info` also holds the factors of the reward as `factor/<name>`.
        """
        if np.shape(actions) != (self.num_envs, self.action_size):
            raise ActionError(
                f"actions: expected shape {(self.num_envs, self.action_size)}, got "
                f"{np.shape(actions)}"
            )
        steps = []
        for g, (group, rows) in enumerate(zip(self.groups, self._rows(), strict=True)):
            obs, reward, terminated, truncated, info = group.step(actions[rows])
            info |= {f"factor/{n}": value for n, value in group.factors.items()}
            self._left[g] -= 1
            over = self._left[g] <= 0 and not self._pinned[g]
            if over and len(obs) > 1:  # the life of a shared body
                truncated = ~terminated
            steps.append((reward, terminated, truncated, info))
        rewards, terminated, truncated = (
            np.concatenate([step[i] for step in steps]) for i in range(3)
        )
        joined: Info = {
            name: np.concatenate([step[3][name] for step in steps])
            for name in steps[0][3]
        }
        return self._shown(), rewards, terminated, truncated, joined

    def teacher_actions(self) -> Floats:
        """Those of each group's balance controller. (N, A)."""
        return np.concatenate([group.teacher_actions() for group in self.groups])

    def set_progress(self, share: float) -> None:
        """Nothing follows a schedule here."""

    def state_dict(self) -> Arrays:
        """Parameters and states of the groups, `<group>.<name>`."""
        arrays: Arrays = {
            "left": self._left.copy(),
            "pinned": self._pinned.copy(),
            "values": np.array([group.values for group in self.groups]),
        }
        for g, group in enumerate(self.groups):
            arrays |= {
                f"{g}.{name}": array for name, array in group.state_dict().items()
            }
        return arrays

    def load_state_dict(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state_dict`: bodies are made anew from their parameters."""
        values = arrays["values"]
        if values.shape != (len(self.groups), self.space.size):
            raise ValueError(
                f"parameters of {len(values)} groups, not {len(self.groups)}"
            )
        for g, row in enumerate(values):
            self._replace(g, self._group(g, row))
            start = f"{g}."
            self.groups[g].load_state_dict(
                {k[len(start) :]: v for k, v in arrays.items() if k.startswith(start)}
            )
        self._left[...], self._pinned[...] = arrays["left"], arrays["pinned"]
        self._shown()

    def close(self) -> None:
        """Free all."""
        for group in self.groups:
            group.close()

    def _renew(self, g: int) -> None:
        """Another body for group `g`."""
        rng = self.groups[g].rngs[0]
        self._left[g] = self.config.gait.lifetime
        for _ in range(_TRIES):
            values = random_parameters(self.config, self.reference, rng, 1)[0]
            if np.array_equal(values, self.groups[g].values):
                return
            try:
                made = self._group(g, values)
            except MotionError as error:
                log.info("%s", error)
                continue
            self._replace(g, made)
            return
        raise ConfigError(f"no gait could be made for {_TRIES} random bodies")

    def _group(self, g: int, values: Floats) -> GaitGroup:
        size = int(self._edges[g + 1] - self._edges[g])
        return GaitGroup(
            self.config,
            self.reference,
            self.space,
            values,
            num_envs=size,
            threads=self._threads,
        )

    def _replace(self, g: int, made: GaitGroup) -> None:
        """Put a new group in the place of `g`; its envs keep their generators."""
        made.rngs = self.groups[g].rngs
        self.groups[g].close()
        self.groups[g] = made

    def _rows(self) -> list[slice]:
        """The envs of each group."""
        pairs = zip(self._edges[:-1], self._edges[1:], strict=True)
        return [slice(int(a), int(b)) for a, b in pairs]

    def _shown(self) -> NDArray[np.float32]:
        for group, rows in zip(self.groups, self._rows(), strict=True):
            self.obs[rows] = group.obs
        return self.obs


class _Generators(list[np.random.Generator]):
    """The envs' generators; an assigned one goes to its env."""

    def __init__(self, batch: GaitBatch) -> None:
        super().__init__(rng for group in batch.groups for rng in group.rngs)
        self._batch = batch

    def __setitem__(self, index: Any, rng: Any) -> None:
        super().__setitem__(index, rng)
        edges = self._batch._edges
        g = int(np.searchsorted(edges, index, side="right")) - 1
        self._batch.groups[g].rngs[index - int(edges[g])] = rng
