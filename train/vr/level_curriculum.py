"""The training levels of a running batch: curriculum stages and refreshed levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.vr import CurriculumStage, NavigationConfig
from ambulo.envs.vr.body.fitting import fitting_level
from ambulo.envs.vr.families.level_sets import SEEDS_PER_SPLIT
from ambulo.envs.vr.task.bank import LevelBank
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_bank, make_world


def stage_config(
    config: NavigationConfig, stage: CurriculumStage | None
) -> NavigationConfig:
    """Return the settings of the world in a stage: its body."""
    if stage is None or stage.body is None:
        return config
    return config.override("environment", body=stage.body)


def stage_bank(config: NavigationConfig, stage: CurriculumStage | None) -> LevelBank:
    """Return the level bank that a stage (or a training without stages) begins with.

    It does not depend on the goal distance of the stage, only on its levels.
    """
    config = stage_config(config, stage)
    in_scene = config.environment.scene is not None
    if stage is not None and stage.levels is not None and not in_scene:
        config = config.override("environment", levels=stage.levels, level_file=None)
    return make_bank(config, "train", config.training.seed)


class TrainingLevels:
    """Changes the bank of a batch, as a function of the seed and of `counter`."""

    counter: int
    """Number of new levels made or skipped so far; the only state besides the bank."""

    def __init__(
        self,
        config: NavigationConfig,
        batch: NavigationBatch,
        stage: CurriculumStage | None,
    ) -> None:
        """For a `batch` whose bank was made by `stage_bank` for `stage`."""
        self._config, self._batch, self._stage = config, batch, stage
        self.counter = 0
        if stage is not None:
            self._limit_distance(stage)

    def enter(self, stage: CurriculumStage) -> bool:
        """Use `stage` from the next episode on; return whether bank or body are new ones."""
        old, self._stage = self._stage, stage
        same = old is not None and old.levels == stage.levels
        before, now = (
            stage_config(self._config, one).environment.body for one in (old, stage)
        )
        if before != now:
            self._batch.world.close()
            world = make_world(stage_config(self._config, stage), self._batch.num_envs)
            self._batch.enter(world)
            same = False
        if not same:
            bank = stage_bank(self._config, stage)
            self._batch.bank = bank
            self._batch.world.set_levels(range(len(bank)), bank.levels)
        self._limit_distance(stage)
        return not same

    def restart(self) -> NDArray[np.float32]:
        """Begin new episodes in all environments; return a copy of the observations."""
        return self._batch.reset(np.arange(self._batch.num_envs)).copy()

    def refresh(self) -> None:
        """Replace `environment.level_refresh` levels without an environment in them."""
        count = self._config.environment.level_refresh
        bank, busy = self._batch.bank, set(self._batch.task.slot.tolist())
        if not count or bank.own == len(bank):
            return
        for _ in range(count):
            number = self.counter
            self.counter += 1
            slot = int(self._generator(number).integers(bank.own, len(bank)))
            if slot not in busy:
                self._replace(slot, number)

    def _limit_distance(self, stage: CurriculumStage) -> None:
        low, high = self._config.environment.goal_distance
        high = min(high, stage.max_goal_distance)
        self._batch.goal_distance = (min(low, high), high)
        if self._config.environment.level_file is not None:
            self._batch.bank.goal_distance = self._batch.goal_distance

    def _replace(self, slot: int, number: int) -> None:
        """Put the new level `number` of the slot's family into `slot`."""
        bank = self._batch.bank
        index = self._config.environment.levels_per_family + number
        family = bank.levels[slot].family
        body = stage_config(self._config, self._stage).environment.body
        level = fitting_level(family, "train", index % SEEDS_PER_SPLIT, body)
        bank.replace(slot, level, self._generator(number))
        self._batch.world.set_levels([slot], [level])

    def _generator(self, number: int) -> np.random.Generator:
        return np.random.default_rng([self._config.training.seed, 3, number])
