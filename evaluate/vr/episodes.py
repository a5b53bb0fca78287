"""Which episodes an evaluation plays: levels, starts and goals, by names and a seed.

Nothing is for training here. Episode i is the same for every agent, for any number of
envs, and for any number of episodes in all. A level file with start and goal begins its
first episode there and the following ones a little beside, or they would all be equal.
Of agents that share a level the first has its start and goal, the others have drawn ones.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ambulo.common.paths import resolve_path
from ambulo.configs.errors import LevelError
from ambulo.configs.vr import NavigationConfig, NavigationEnvironmentConfig
from ambulo.envs.vr.body.fitting import fitting_level, own_levels
from ambulo.envs.vr.families.level_sets import HANDMADE, SPLITS, Split, resolve
from ambulo.envs.vr.handmade import handmade_levels
from ambulo.envs.vr.levels.geodesic import EVALUATION_RESOLUTION
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.task.bank import LevelBank, Start
from ambulo.envs.vr.task.build import scene_of
from ambulo.envs.vr.task.shared_levels import start_apart

CHUNK = 256
"""Episodes whose levels are held in memory at once."""
LEVELS_PER_SEED = 10_000
"""Evaluation seed s plays the levels from index s * LEVELS_PER_SEED on."""
_SEEDS = 100


@dataclass(frozen=True)
class EpisodeChunk:
    """Consecutive episodes with the levels that they need."""

    first: int
    """Index of the first episode."""
    count: int
    """Number of episodes; more `starts` fill the last level with agents."""
    bank: LevelBank
    """Levels, each with designed start and goal."""
    starts: list[Start]
    """One for each episode, and for each agent that fills the last level."""


class LevelSource:
    """The levels of an evaluation by episode, made on demand."""

    def __init__(
        self,
        config: NavigationConfig,
        *,
        level_set: str | None = None,
        level_file: str | None = None,
        seed: int = 0,
        split: Split = "heldout",
    ) -> None:
        """Levels of a set, of files, or what `config` names.

        Args:
            config: tells levels and goal distance when neither set nor file is given;
                own levels and families take turns as its fraction says.
            level_set: family or set names with commas between, or "handmade"; played
                round-robin.
            level_file: level file or folder, played round-robin.
            seed: chooses generated levels, and starts and goals that are left open.
            split: which seeds generated levels have, unless `level_set` is a split.

        Raises:
            ConfigError: no such set.
            LevelError: bad level file.
        """
        env = config.environment
        self.seed, self.split, self._body = seed, split, env.body
        self.default_range, self.agents = env.goal_distance, env.agents
        self._jitter = env.start_jitter
        self._range: tuple[float, float] | None = None
        self._files: list[Level] = []
        self._families: tuple[str, ...] = ()
        fraction, names = 1.0, tuple(env.levels)
        if level_set is not None:
            names = tuple(name.strip() for name in level_set.split(","))
            if len(names) == 1 and names[0] in SPLITS:
                self.split = names[0]
        elif level_file is None:
            level_file, fraction = env.level_file, env.file_fraction
            self._range = env.goal_distance
        if env.scene is not None and level_set is None and level_file is None:
            self._files, fraction = [scene_of(config)], 1.0
        elif level_file is not None:
            self._files = own_levels(resolve_path(level_file), env.body)
        elif names == (HANDMADE,):
            self._files = handmade_levels()
        self._fraction = fraction if self._files else 0.0
        if self._fraction < 1.0:
            self._families = resolve(names, self.split)

    def level(self, episode: int) -> Level:
        """The level of one episode, with start and goal."""
        level, limit = self._template(episode), self._range
        if self._turn(episode)[0]:
            limit = None
        if level.start is not None and level.goal is not None:
            reach = float(np.hypot(*(level.goal - level.start[:2])))
            if limit is None or reach <= limit[1]:
                return level
        return self._completed(level, episode, limit)

    def moving_level(self, episodes: int) -> str | None:
        """Name of one of the first levels in which something moves; None: nowhere."""
        most = 2 * (len(self._files) + len(self._families))
        for episode in range(min(episodes, most)):
            level = self._template(episode)
            if level.moving:
                return level.name
        return None

    def _turn(self, episode: int) -> tuple[bool, int]:
        """Whether an episode is in a file's level, and the number of such ones before."""
        before, after = (
            math.floor(count * self._fraction + 1e-9)
            for count in (episode, episode + 1)
        )
        return (True, before) if after > before else (False, episode - before)

    def jittered(self, episode: int, start: Start, bank: LevelBank) -> Start:
        """The `start` of an episode, moved where an earlier one was equal to it."""
        of_file, number = self._turn(episode)
        if not of_file or number < len(self._files):
            return start
        if bank.levels[start.slot] is not self._template(episode):
            return start  # drawn for this episode
        rng = np.random.default_rng([self.seed, 6, episode])
        return bank.jittered(start, rng, self._jitter)

    def _template(self, episode: int) -> Level:
        """The level before open starts and goals are drawn."""
        of_file, number = self._turn(episode)
        if of_file:
            return self._files[number % len(self._files)]
        index, family = divmod(number, len(self._families))
        first = LEVELS_PER_SEED * (self.seed % _SEEDS)
        return fitting_level(
            self._families[family], self.split, first + index, self._body
        )

    def _completed(
        self, level: Level, episode: int, limit: tuple[float, float] | None
    ) -> Level:
        """`level` with a drawn start, and a drawn goal where it has none."""
        rng = np.random.default_rng([self.seed, 3, episode])
        bank = LevelBank(
            [level],
            rng,
            goal_distance=self.default_range,
            resolution=EVALUATION_RESOLUTION,
        )
        start = bank.draw(rng, 0, goal_distance=limit)
        goal = bank.goals[0, start.goal]
        return dataclasses.replace(
            level,
            start=start.pose,
            start_height=start.height,
            goal=goal[:2].copy(),
            goal_height=float(goal[2]),
        )


def episode_chunks(source: LevelSource, episodes: int) -> Iterator[EpisodeChunk]:
    """The first `episodes` episodes of `source`, in chunks of at most `CHUNK`."""
    most = max(CHUNK // source.agents, 1) * source.agents
    for first in range(0, episodes, most):
        yield _chunk(source, first, min(most, episodes - first))


def episodes_for(source: LevelSource, episodes: int) -> tuple[LevelBank, list[Start]]:
    """All episodes of a small evaluation at once; as many as fill whole levels."""
    chunk = _chunk(source, 0, episodes)
    return chunk.bank, chunk.starts


def _chunk(source: LevelSource, first: int, count: int) -> EpisodeChunk:
    """Episodes `first` .. `first + count - 1`; a level that repeats is held once."""
    levels: list[Level] = []
    slots: dict[int, int] = {}
    starts = []
    agents = source.agents
    numbers = range(first // agents, -(-(first + count) // agents))
    for number in numbers:
        level = source.level(number)
        slot = slots.setdefault(id(level), len(levels))
        if slot == len(levels):
            levels.append(level)
        assert level.start is not None, "a level of an episode has a start"
        starts.append(Start(slot, 0, level.start.copy(), level.start_height))
    bank = LevelBank(
        levels,
        np.random.default_rng([source.seed, 4, first]),
        goal_distance=source.default_range,
        resolution=EVALUATION_RESOLUTION,
    )
    for start in starts:
        row = np.array([start.slot])
        here = np.array([[*start.pose[:2], start.height]])
        way = bank.distance(row, np.zeros(1, np.int64), here)
        if not np.isfinite(way[0]):
            name = bank.levels[start.slot].name
            raise LevelError(f"level {name!r}: no way from the start to the goal")
    moved = []
    for number, start in zip(numbers, starts, strict=True):
        moved.append(source.jittered(number, start, bank))
        moved += _mates(source, number, moved[-1], bank)
    return EpisodeChunk(first, count, bank, moved)


def _mates(
    source: LevelSource, number: int, start: Start, bank: LevelBank
) -> list[Start]:
    """Return the starts of all agents in level `number`; the first one has `start`."""
    starts = [start]
    rng = np.random.default_rng([source.seed, 7, number])
    for _ in range(source.agents - 1):
        taken = np.array([[*one.pose[:2], one.height] for one in starts])
        starts.append(start_apart(bank, start.slot, rng, taken))
    return starts[1:]


def described_levels(
    config: NavigationConfig,
    level_set: str | None = None,
    level_file: str | None = None,
) -> str:
    """Return in words which levels a `LevelSource` of these arguments plays."""
    env = config.environment
    if level_file is not None:
        same = env.level_file is not None and (
            resolve_path(level_file).resolve() == resolve_path(env.level_file).resolve()
        )
        return f"{level_file}{', which it was trained on' if same else ''}"
    if level_set is not None and level_set.strip() == HANDMADE:
        return f"{HANDMADE} (twelve levels that no training uses)"
    if level_set is not None:
        return f"{level_set} (held-out seeds unless the set has its own)"
    return _configured_levels(env)


def _configured_levels(env: NavigationEnvironmentConfig) -> str:
    """Return in words which levels settings name."""
    if env.scene is not None:
        return f"the scene {env.scene}"
    own = f"the levels it was trained on, {env.level_file}"
    if env.level_file is not None and env.file_fraction == 1.0:
        return own
    low, high = env.goal_distance
    names = ", ".join(env.levels)
    if any(name in SPLITS for name in env.levels):
        names = f"the families of the set {names}"
    made = f"held-out levels of {names}, goals at {low:g}-{high:g} m"
    if env.level_file is None:
        return made
    return f"{own} ({env.file_fraction:.0%} of the episodes), and {made}"
