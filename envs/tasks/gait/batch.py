"""Batch of gait environments: bodies and gaits given by parameters, several bodies at once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.configs.arrays import Floats, Ints, Singles
from ambulo.configs.batch import BatchStep
from ambulo.configs.errors import ConfigError, MotionError
from ambulo.configs.gait import gait_space
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.extra_parts import MakePart
from ambulo.envs.locomotion.joined import JoinedBatch
from ambulo.envs.reference.reference import Reference
from ambulo.envs.state_arrays import Arrays
from ambulo.envs.tasks.gait.group import GaitGroup
from ambulo.envs.tasks.gait.sampling import healthy_parameters, random_parameters

log = logging.getLogger(__name__)

_TRIES = 20
"""Draws of parameters before the search for a feasible gait is given up."""


class GaitBatch(JoinedBatch[GaitGroup]):
    """N bodies that walk as gait parameters say; the envs of a group share a body.

    MuJoCo steps copies of one model together, so each group is a batch of its own. When the
    lifetime of a group's body (`gait.lifetime`) is over, its episodes are truncated, and the
    reset of its last env gives the group a new body. A group of one env gets a new body at
    every reset. The generator of the group's first env draws the parameters. The info of a step
    also holds the factors of the reward as `factor/<name>`.
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
            parameters: Fixed parameters, one row for each group. Shape (G, P).

        Raises:
            GaitParameterError: A fixed parameter is unknown or out of range.
        """
        self.space = gait_space(config.environment.character)
        self._threads = threads
        count = min(config.gait.groups, num_envs)
        rows = np.tile(healthy_parameters(config, reference), (count, 1))
        if parameters is not None:
            rows = np.asarray(parameters, dtype=np.float64)
            self.space.check(rows)
            count = len(rows)
        edges = np.linspace(0, num_envs, count + 1).round().astype(np.int64)
        self.config, self.reference = config, reference
        self._shown_parts: list[MakePart] = []
        sizes = np.diff(edges).tolist()
        super().__init__(
            [self._group(size, row) for size, row in zip(sizes, rows, strict=True)]
        )
        self._left = np.zeros(count, dtype=np.int64)
        self._pinned = np.full(count, parameters is not None)
        self._transform: Callable[[Singles], Singles] | None = None

    @property
    def groups(self) -> list[GaitGroup]:
        """The groups, in the order of their envs."""
        return self.batches

    def show(self, make: MakePart) -> None:
        """Append a part to the observations, also after a change of bodies."""
        self._shown_parts.append(make)
        super().show(make)

    def set_action_transform(
        self, transform: Callable[[Singles], Singles], extra: str
    ) -> None:
        """Let `transform` turn given actions into those of the bodies.

        Args:
            transform: From actions (N, A + 1) to actions (N, A).
            extra: Name of the extra last action.
        """
        self._transform = transform
        self.action_size += 1
        self.extra_actions = (*self.extra_actions, extra)

    @property
    def parameters(self) -> Floats:
        """The parameters of each env. Shape (N, P)."""
        sizes = [group.num_envs for group in self.groups]
        return np.repeat([group.values for group in self.groups], sizes, axis=0)

    def positions(self) -> Floats:
        """The 56 joint positions of the Park et al. format for each env. Shape (N, 56)."""
        return np.concatenate([group.positions() for group in self.groups])

    def seed(self, seeds: Sequence[int | None]) -> None:
        """Seed the generator of each env whose seed is not None; later bodies depend on it."""
        super().seed(seeds)
        self._left[:] = 0

    def set_parameters(self, group: int, values: ArrayLike) -> None:
        """Give a group's envs the body of `values` (P,) permanently; reset them next.

        Raises:
            GaitParameterError: A value out of range.
            MotionError: Parameters whose gait the body cannot make.
        """
        self.space.check(values)
        size = self.groups[group].num_envs
        self._replace(group, self._group(size, np.asarray(values, dtype=np.float64)))
        self._pinned[group] = True

    def _transformed(self, actions: NDArray[Any]) -> NDArray[Any]:
        if self._transform is None:
            return actions
        return self._transform(np.asarray(actions, dtype=np.float32))

    def _reset_member(self, i: int, envs: Ints, phases: Floats | None) -> None:
        whole = len(envs) == self.groups[i].num_envs
        if whole and not self._pinned[i] and (self._left[i] <= 0 or len(envs) == 1):
            self._renew(i)
        super()._reset_member(i, envs, phases)

    def _step_member(self, i: int, actions: NDArray[Any]) -> BatchStep:
        group = self.groups[i]
        obs, reward, terminated, truncated, info = group.step(actions)
        self._left[i] -= 1
        over = self._left[i] <= 0 and not self._pinned[i]
        if over and len(obs) > 1:  # the life of a shared body
            truncated = ~terminated
        return obs, reward, terminated, truncated, info

    def state_dict(self) -> Arrays:
        """Parameters and states of the groups, `<group>.<name>`."""
        return {
            "left": self._left.copy(),
            "pinned": self._pinned.copy(),
            "values": np.array([group.values for group in self.groups]),
        } | super().state_dict()

    def load_state_dict(self, arrays: Arrays) -> None:
        """Continue from `state_dict`: bodies are rebuilt from their parameters."""
        values = arrays["values"]
        if values.shape != (len(self.groups), self.space.size):
            raise ValueError(
                f"parameters of {len(values)} groups, not {len(self.groups)}"
            )
        for g, row in enumerate(values):
            self._replace(g, self._group(self.groups[g].num_envs, row))
        super().load_state_dict(arrays)
        self._left[...], self._pinned[...] = arrays["left"], arrays["pinned"]

    def _renew(self, g: int) -> None:
        """Replace the body of group `g`."""
        rng = self.groups[g].rngs[0]
        self._left[g] = self.config.gait.lifetime
        for _ in range(_TRIES):
            values = random_parameters(self.config, self.reference, rng, 1)[0]
            if np.array_equal(values, self.groups[g].values):
                return
            try:
                made = self._group(self.groups[g].num_envs, values)
            except MotionError as error:
                log.info("%s", error)
                continue
            self._replace(g, made)
            return
        raise ConfigError(f"no gait could be made for {_TRIES} random bodies")

    def _group(self, size: int, values: Floats) -> GaitGroup:
        """A group of `size` envs with the parameters `values` (P,)."""
        group = GaitGroup(
            self.config,
            self.reference,
            self.space,
            values,
            num_envs=size,
            threads=self._threads,
        )
        for make in self._shown_parts:
            group.show(make)
        return group

    def _replace(self, g: int, made: GaitGroup) -> None:
        """Install a rebuilt group in place of `g`; its envs keep their generators."""
        made.rngs = self.groups[g].rngs
        self.groups[g].close()
        self.groups[g] = made


BATCH = GaitBatch
