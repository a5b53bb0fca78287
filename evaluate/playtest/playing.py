"""Agents of a play-test walk their journeys in the compiled world."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ambulo.common.find_model import find_model
from ambulo.configs.errors import ConfigError, ModelFileError, nearest
from ambulo.configs.vr import NavigationConfig
from ambulo.configs.vr_learning import PLANNED
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level, with_places
from ambulo.envs.vr.levels.scene_level import SceneLevel
from ambulo.envs.vr.planners.planners import PLANNERS
from ambulo.envs.vr.survey.movers import played_level
from ambulo.envs.vr.task.bank import GOALS, LevelBank, Start
from ambulo.evaluate.playtest.flags import PlaytestFlags
from ambulo.evaluate.playtest.journeys import Ground, Journey
from ambulo.evaluate.vr.evaluation import run_episodes
from ambulo.evaluate.vr.scores import EpisodeRecord
from ambulo.evaluate.vr.subjects import (
    NavigationSubject,
    agent_subject,
    planner_subject,
)

GOAL_RADIUS = 0.5
"""A goal is reached within this distance, [m]: too near to reach it through a wall."""
SHORTEST, LONGEST = 30.0, 300.0
"""Limits of the time that agents have for a journey, [s]."""
_MARGIN = 20.0
_PATIENCE = 5.0
"""Agents have this many times the time of the shortest way, and `_MARGIN` seconds."""
_MAX_BYTES = 2.5e8
"""Memory of the distance fields of the levels that are held at once, [bytes]."""
_MAX_CHUNK = 256


@dataclass(frozen=True)
class Walker:
    """The agent of a play-test."""

    name: str
    """As it was named."""
    subject: NavigationSubject
    """Its settings and its controllers."""

    @property
    def spec(self) -> WorldSpec:
        """Speeds and times of its world."""
        return WorldSpec.from_config(self.subject.config)

    @property
    def legs(self) -> bool:
        """Whether its body has legs, and keeps to the ground floor."""
        return self.subject.config.environment.body != "capsule"

    @property
    def reads_heights(self) -> bool:
        """Whether it knows of floors above and below its own."""
        memory = self.subject.config.observations.memory
        return self.name == "oracle" or memory in PLANNED


def make_walker(flags: PlaytestFlags) -> Walker:
    """The planner `flags.agent`, or the agent in that model, with `flags.eye_height`.

    Raises:
        ConfigError: a planner that never walks, an agent with other tasks, or one that cannot
            have this eye height.
        ModelFileError: no such model, or one of another kind.
    """
    name, eyes = flags.agent, flags.eye_height
    if name in PLANNERS:
        if name == "stand":
            raise ConfigError("--agent stand: never walks")
        return Walker(name, planner_subject(name, _settings(NavigationConfig(), eyes)))
    try:
        file = find_model(name)
    except ModelFileError as error:
        if "/" in name or "." in name:
            raise
        hint = nearest(name, [*PLANNERS, "vr_navigation"])
        raise ModelFileError(
            f"--agent: no planner and no model {name!r}{hint}"
        ) from error
    from ambulo.policies.agents.navigation import load_agent

    agent = load_agent(file, trust_pickle=flags.trust_pickle)
    if agent.config.environment.tasks != ("navigate",):
        tasks = ", ".join(agent.config.environment.tasks)
        raise ConfigError(f"--agent {name}: its tasks are {tasks}, not navigate")
    subject = agent_subject(agent, _settings(agent.config, eyes), seed=flags.seed)
    return Walker(name, subject)


def _settings(config: NavigationConfig, eyes: float | None) -> NavigationConfig:
    """`config` in the compiled world, without the engines that it may name."""
    return config.override(
        "environment",
        world="compiled",
        level_file=None,
        godot_url=None,
        godot_bin=None,
        godot_project=None,
        godot_engines=1,
        agents=1,
        goal_radius=GOAL_RADIUS,
        eye_height=config.environment.eye_height if eyes is None else eyes,
    )


def walk(
    walker: Walker,
    ground: Ground,
    journeys: Sequence[Journey],
    flags: PlaytestFlags,
    progress: Callable[[int], None] | None = None,
) -> list[EpisodeRecord]:
    """Return one episode per journey.

    Args:
        walker: the agent.
        ground: of the level.
        journeys: where to.
        flags: seed, agents at once, and time for each journey, if not by the longest one.
        progress: called with the number of journeys that have just ended.
    """
    spec = walker.spec
    limit = flags.seconds or time_limit(ground, journeys, spec.max_speed)
    config = walker.subject.config.override(
        "environment", max_episode_steps=max(1, round(limit / spec.decision_dt))
    )
    chunk = int(np.clip(_MAX_BYTES / (4.0 * ground.grid.free.size), 8, _MAX_CHUNK))
    records: list[EpisodeRecord] = []
    for first in range(0, len(journeys), chunk):
        part = journeys[first : first + chunk]
        bank = LevelBank(
            [_level_of(ground, part)], np.random.default_rng([flags.seed, 14, first]),
            resolution=ground.grid.resolution,
        )  # fmt: skip
        starts = [
            Start(0, GOALS + k, j.start[:3].copy(), float(j.start[3]))
            for k, j in enumerate(part)
        ]
        played = run_episodes(
            walker.subject.make(min(flags.num_envs, len(starts))), config, bank, starts,
            num_envs=flags.num_envs, seed=flags.seed, first=first, progress=progress,
        )  # fmt: skip
        records += played.episodes
    return records


def _level_of(ground: Ground, journeys: Sequence[Journey]) -> Level:
    """The level of `ground` with the goals of `journeys` as waypoints.

    One level for all of them is packed once, with its cells.
    """
    level = played_level(ground.level)
    first = journeys[0]
    level = with_places(
        level,
        first.start[None, [0, 1, 3, 2]],
        first.goal[None],
        np.array([journey.goal for journey in journeys]),
    )
    known = {f.name: getattr(level, f.name) for f in dataclasses.fields(Level)}
    return SceneLevel(**known, grid=ground.grid)


def time_limit(ground: Ground, journeys: Sequence[Journey], max_speed: float) -> float:
    """Time for a journey by the longest shortest way of the first ones, [s]."""
    longest = 0.0
    for journey in journeys[:20]:
        field = ground.grid.field(journey.goal)
        start = np.append(journey.start[:2], journey.start[3])
        way = ground.grid.distance(field, start)
        longest = max(longest, float(way) if np.isfinite(way) else 0.0)
    return float(np.clip(_MARGIN + _PATIENCE * longest / max_speed, SHORTEST, LONGEST))
