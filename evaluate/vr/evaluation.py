"""Play episodes and sum them up: one loop for agents and for classical planners."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.vr import NavigationConfig, Task
from ambulo.envs.vr.levels.geodesic import tour_length
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.task.bank import LevelBank, Start
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_world
from ambulo.envs.vr.task.metrics import BodyTrace, PlanTrace, Trace, optimal_length
from ambulo.envs.vr.task.tasks import PATROL, stops
from ambulo.envs.vr.world.moving import MovingBegun
from ambulo.evaluate.vr.episodes import CHUNK, LevelSource, episode_chunks
from ambulo.evaluate.vr.scores import EpisodeRecord, EpisodeRecords
from ambulo.evaluate.vr.subjects import Controller, NavigationSubject

Progress = Callable[[str, int], None]
"""Called with a subject's name and the number of its episodes that ended in a step."""

DEFAULT_NUM_ENVS = 64
"""Environments at once."""
_COLUMNS = 13
"""Numbers in one row of a recording."""
_BODY = ("head_height", "head_tilt", "gait_phase", "touch_force")
"""Recorded quantities of characters with legs, from `World.details`."""
_BLOCKED_EVERY = 5
"""Environment steps between two copies of what a navigator remembers."""
_SEED_STRIDE = 1_000_003
"""More episodes than this, and two evaluation seeds could share some."""


def run_episodes(
    controller: Controller,
    config: NavigationConfig,
    bank: LevelBank,
    starts: Sequence[Start],
    *,
    task: Task | None = None,
    num_envs: int = DEFAULT_NUM_ENVS,
    seed: int = 0,
    first: int = 0,
    plans: bool = False,
    progress: Callable[[int], None] | None = None,
) -> EpisodeRecords:
    """Play one episode from each of `starts`, `num_envs` at a time.

    An env that finishes takes the next start; agents that share a level wait, out of the
    others' way, until all of them have finished. Episode i has its own seed (`seed`,
    `first` + i), so the number of envs changes nothing for a controller that treats each
    env alone (planners do; deterministic networks up to rounding), unless agents meet. An
    episode that an engine broke down in is played again from its start.

    Args:
        controller: of `envs_at_once` envs.
        config: of observations, actions, rewards and limits.
        bank: levels.
        starts: of the episodes; those of agents that share a level in a row.
        task: of all episodes; None: drawn from those of `config`.
        num_envs: at once, at most.
        seed: of everything random.
        first: index of the first episode.
        plans: keep what navigators plan and remember, for films.
        progress: called after each step with the number of episodes that ended in it.
    """
    agents = config.environment.agents
    count = envs_at_once(num_envs, len(starts), agents)
    world = make_world(config, count)
    batch = NavigationBatch(config, bank, world, num_envs=count)
    if task is not None:
        batch.tasks = (task,)
    recorder = _Recorder(batch, plans=plans)
    records: list[EpisodeRecord | None] = [None] * len(starts)
    running = np.arange(count)
    waiting = count

    def begin(envs: Ints) -> None:
        seeds = _SEED_STRIDE * seed + first + running[envs]
        for env, value in zip(envs, seeds, strict=True):
            batch.rngs[env] = np.random.default_rng([value, 5])
        batch.reset(envs, [starts[running[p]] for p in envs])
        controller.reset(envs, seeds)
        recorder.begin(envs)

    try:
        begin(np.arange(count))
        while (running >= 0).any():
            actions = controller.act(batch)
            if actions.dtype.kind == "f":  # who waits stands, and walks off no edge
                actions = np.where((running >= 0)[:, None], actions, 0.0)
            _, _, terminated, truncated, info = batch.step(actions)
            recorder.add()
            lost = (running >= 0) & info["bridge_fault"].astype(np.bool_)
            if lost.any():
                begin(np.flatnonzero(lost))
            done = (terminated | truncated) & ~lost
            ended = np.flatnonzero(done & (running >= 0))
            for env in ended:
                records[running[env]] = recorder.record(int(env), info)
            running[ended] = -1
            batch.world.leave(ended)
            free = (running < 0).reshape(-1, agents).all(axis=1)
            again = np.flatnonzero(free.repeat(agents))[: len(starts) - waiting]
            running[again] = waiting + np.arange(len(again))
            waiting += len(again)
            if len(again):
                begin(again)
            rests = ended[running[ended] < 0]
            if len(rests) and agents == 1:
                batch.reset(rests, [starts[0]] * len(rests))
            if progress is not None:
                progress(len(ended))
    finally:
        batch.close()
    return EpisodeRecords(
        tuple(record for record in records if record is not None), batch.spec.max_speed
    )


def envs_at_once(num_envs: int, episodes: int, agents: int = 1) -> int:
    """How many of at most `num_envs` envs play `episodes`: whole levels of `agents`."""
    return max(min(num_envs, episodes) // agents, 1) * agents


class _Recorder:
    """Record every environment step of the running episodes."""

    def __init__(self, batch: NavigationBatch, *, plans: bool) -> None:
        """Room for the longest episodes of all envs; `plans`: keep those of navigators."""
        self._batch = batch
        self._plans = plans and batch.memory.navigator is not None
        self._paths: list[list[Floats]] = [[] for _ in range(batch.num_envs)]
        self._blocked: list[list[Floats]] = [[] for _ in range(batch.num_envs)]
        steps = batch.config.environment.max_episode_steps
        self._rows = np.zeros((batch.num_envs, steps + 1, _COLUMNS))
        self._bodies: NDArray[np.float32] | None = None
        self._moving: list[MovingBegun | None] = [None] * batch.num_envs
        poses = batch.world.poses
        if poses is not None:
            width = len(_BODY) + poses[0].size
            self._bodies = np.zeros((batch.num_envs, steps + 1, width), np.float32)

    def begin(self, envs: Ints) -> None:
        """Row 0 of new episodes."""
        self._rows[envs, 0] = self._now()[envs]
        batch = self._batch
        moving = batch.world.moving
        for env in envs.tolist():
            here = batch.bank.levels[batch.task.slot[env]].moving
            self._moving[env] = None
            self._paths[env], self._blocked[env] = [], []
            self._add_plan(env)
            if here and not moving.shared:
                self._moving[env] = MovingBegun.of(moving, env)
        if self._bodies is not None:
            self._bodies[envs, 0] = self._bodies_now()[envs]

    def add(self) -> None:
        """The next row of every env; those that wait overwrite their last one."""
        at = np.minimum(self._batch.episode.steps, self._rows.shape[1] - 1)
        self._rows[np.arange(len(at)), at] = self._now()
        for env in range(len(at)):
            self._add_plan(env)
        if self._bodies is not None:
            self._bodies[np.arange(len(at)), at] = self._bodies_now()

    def record(
        self, index: int, info: Mapping[str, NDArray[np.generic]]
    ) -> EpisodeRecord:
        """The episode of `env` that has just ended."""
        batch = self._batch
        episode, task, env = batch.episode, batch.task, batch.config.environment
        steps = int(episode.steps[index])
        level, start = batch.bank.levels[task.slot[index]], episode.origin[index, :2]
        success, fell = bool(info["is_success"][index]), bool(info["fell"][index])
        shortest = _shortest(batch, index, start)
        return EpisodeRecord(
            level=level,
            mates=env.agents - 1,
            success=success,
            fell=fell,
            timeout=not success and not fell,
            optimal=float(optimal_length(shortest, env.goal_radius)),
            left=0.0 if success else _left(batch, index),
            path=float(episode.path[index]),
            time=steps * batch.spec.decision_dt,
            collisions=int(episode.collisions[index]),
            people_collisions=int(episode.people_collisions[index]),
            comfort=float(episode.comfort[index]) / steps,
            comfort_index=float(episode.comfort_index[index]) / steps,
            reward=float(episode.reward[index]),
            trace=self._trace(index, steps),
        )

    def _trace(self, env: int, steps: int) -> Trace:
        rows = self._rows[env, : steps + 1].copy()
        return Trace(
            dt=self._batch.spec.decision_dt,
            position=rows[:, :3],
            yaw=rows[:, 3],
            velocity=rows[:, 4:7],
            yaw_rate=rows[:, 7],
            clearance=rows[:, 8],
            contact_ticks=rows[:, 9].astype(np.int64),
            snaps=rows[:, 10].astype(np.int64),
            distance=rows[:, 11],
            people_ticks=rows[:, 12].astype(np.int64),
            moving=self._moving[env],
            body=self._body_trace(env, steps),
            plans=self._plan_trace(env, steps),
        )

    def _add_plan(self, env: int) -> None:
        """Keep what the navigator of `env` plans now, and now and then what it remembers."""
        navigator = self._batch.memory.navigator
        if not self._plans or navigator is None:
            return
        paths, blocked = self._paths[env], self._blocked[env]
        if len(paths) % _BLOCKED_EVERY == 0:
            place = self._batch.world.state.position[env]
            blocked.append(navigator.blocked(env, place).astype(np.float32))
        paths.append(navigator.path(env).astype(np.float32))

    def _plan_trace(self, env: int, steps: int) -> PlanTrace | None:
        if not self._plans:
            return None
        paths = tuple(self._paths[env][: steps + 1])
        blocked = tuple(
            self._blocked[env][t // _BLOCKED_EVERY] for t in range(len(paths))
        )
        return PlanTrace(paths, blocked)

    def _body_trace(self, env: int, steps: int) -> BodyTrace | None:
        poses = self._batch.world.poses
        if self._bodies is None or poses is None:
            return None
        rows = self._bodies[env, : steps + 1]
        columns = dict(zip(_BODY, rows.T.astype(np.float64), strict=False))
        qpos = rows[:, len(_BODY) :].reshape(-1, poses.shape[-1])
        ticks = len(qpos) // len(rows)
        return BodyTrace(**columns, qpos=qpos[ticks - 1 :].copy())

    def _bodies_now(self) -> Floats:
        details, poses = self._batch.world.details(), self._batch.world.poses
        assert poses is not None
        columns = [details[name] for name in _BODY]
        return np.column_stack([*columns, poses.reshape(len(poses), -1)])

    def _now(self) -> Floats:
        s = self._batch.world.state
        return np.column_stack(
            [
                s.position, s.yaw, s.velocity, s.yaw_rate, s.rays.min(axis=1),
                s.contact_ticks, s.snaps, self._batch.episode.distance, s.people_ticks,
            ]
        )  # fmt: skip


def _left(batch: NavigationBatch, env: int) -> float:
    """Way from where `env` is to the edge of its (last) goal, [m]; straight without one."""
    task, here = batch.task, batch.world.state.position[env]
    bank, slot = batch.bank, int(task.slot[env])
    further = stops(
        task.kind[env], slot, task.index[env], bank, batch.config.environment
    )
    further = further[: len(further) - int(task.visited[env])]
    if len(further) > 1:
        walk = _tour(batch, slot, here, bank.goals[slot, further])
    else:
        rows = np.array([env])
        walk = batch.bank.distance(task.slot[rows], task.index[rows], here[None])[0]
    straight = float(np.hypot(*(task.goal[env, :2] - here[:2])))
    way = max(float(walk), straight) if np.isfinite(walk) else straight
    return float(optimal_length(way, batch.config.environment.goal_radius))


def _shortest(batch: NavigationBatch, env: int, start: Floats) -> float:
    """Length of the taut way from `start` by the goals of the episode, [m].

    It ends in the middle of the last goal. Of a goal that walks it is the way to where the
    goal began.
    """
    begun = batch.starts[env]
    assert begun is not None, "the env was reset"
    kind, first = batch.task.kind[env], np.array([begun.goal])
    if kind == PATROL:
        first = batch.bank.first_goals(np.array([begun.slot]), first)
    order = stops(kind, begun.slot, int(first[0]), batch.bank, batch.config.environment)
    start = np.append(start[:2], begun.height)
    goals = batch.bank.goals[begun.slot, order]
    length = _tour(batch, begun.slot, start, goals)
    if np.isfinite(length):
        return length
    points = np.vstack([start, goals[:-1]])
    slots = np.full(len(order), begun.slot)
    return float(batch.bank.distance(slots, np.array(order), points).sum())


def _tour(batch: NavigationBatch, slot: int, here: Floats, goals: Floats) -> float:
    """`tour_length` in a level slot, with the goal radius of `batch`."""
    return _tour_length(
        batch.bank.levels[slot],
        tuple(map(float, here)),
        tuple((float(x), float(y), float(z)) for x, y, z in goals),
        batch.config.environment.goal_radius,
    )


@lru_cache(maxsize=2 * CHUNK)
def _tour_length(
    level: Level,
    here: tuple[float, ...],
    goals: tuple[tuple[float, float, float], ...],
    radius: float,
) -> float:
    """`tour_length`, remembered for the other subjects of the same episode."""
    return tour_length(level, np.array(here), np.array(goals), radius)


def evaluate(
    subjects: Mapping[str, NavigationSubject],
    source: LevelSource,
    episodes: int,
    *,
    task: Task | None = None,
    num_envs: int = DEFAULT_NUM_ENVS,
    plans: bool = False,
    progress: Progress | None = None,
) -> dict[str, EpisodeRecords]:
    """All subjects on the same `episodes` of `source`, all with `task` if it is given.

    `plans` and `num_envs` are those of `run_episodes`.
    """
    found: dict[str, list[EpisodeRecord]] = {name: [] for name in subjects}
    speeds: dict[str, float] = {}
    for chunk in episode_chunks(source, episodes):
        for name, subject in subjects.items():
            agents = subject.config.environment.agents
            records = run_episodes(
                subject.make(envs_at_once(num_envs, len(chunk.starts), agents)),
                subject.config,
                chunk.bank,
                chunk.starts,
                task=task,
                num_envs=num_envs,
                seed=source.seed,
                first=chunk.first,
                plans=plans,
                progress=None if progress is None else partial(progress, name),
            )
            found[name] += records.episodes[: chunk.count]
            speeds[name] = records.max_speed
    return {name: EpisodeRecords(tuple(e), speeds[name]) for name, e in found.items()}
