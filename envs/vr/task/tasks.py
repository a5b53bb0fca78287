"""The four tasks: navigate, follow a moving goal, reach with a hand, patrol several goals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.vr import NavigationEnvironmentConfig
from ambulo.envs.state_arrays import StateArrays
from ambulo.envs.vr.contract import HAND_OFFSET
from ambulo.envs.vr.levels.layer_field_kernels import SAME_FLOOR
from ambulo.envs.vr.task.bank import GOALS, LevelBank
from ambulo.envs.vr.task.observation import TASKS, hand_positions
from ambulo.envs.vr.world.state import WorldState

NAVIGATE, FOLLOW, REACH, PATROL = range(len(TASKS))
FOLLOW_HOLD = 2.0
"""Time near the moving goal without a break that solves `follow`, [s]."""


@dataclass(frozen=True)
class TaskState(StateArrays):
    """The task of each env; every array has first axis N."""

    shapes: ClassVar = {"goal": (3,)}

    kind: Ints
    """Index into `TASKS`."""
    slot: Ints
    """Level slot."""
    index: Ints
    """Present goal of the level (for `follow`: the initial one)."""
    heading_for: Ints
    """Target of a moving goal, as a goal of the level."""
    goal: Floats
    """Goal point in the world, shape (N, 3), [m]."""
    held: Floats
    """Time near a moving goal without a break, [s]."""
    visited: Ints
    """Patrol goals reached."""
    solved: Bools
    """Whether the task is solved."""

    def begin(
        self,
        envs: Ints,
        kinds: Ints,
        slots: Ints,
        goals: Ints,
        bank: LevelBank,
        heights: Floats | float = HAND_OFFSET[2],
    ) -> None:
        """Set the tasks of `envs` (k,); points to reach have `heights` (k,), [m]."""
        self.kind[envs] = kinds
        self.slot[envs] = slots
        goals = np.where(kinds == PATROL, bank.first_goals(slots, goals), goals)
        self.index[envs] = goals
        self.heading_for[envs] = (goals + 1) % GOALS
        self.goal[envs] = bank.goals[slots, goals]
        self.goal[envs, 2] += np.where(kinds == REACH, heights, 0.0)
        self.held[envs] = 0.0
        self.visited[envs] = 0
        self.solved[envs] = False


def drawn_between(
    rngs: Sequence[np.random.Generator], envs: Ints, bounds: tuple[float, float]
) -> Floats:
    """Random numbers between `bounds` from the generators of `envs` (k,), shape (k,).

    Equal bounds leave the generators unchanged.
    """
    low, high = bounds
    if low == high:
        return np.full(len(envs), low)
    return np.array([rngs[env].uniform(low, high) for env in envs])


def stops(
    kind: int, slot: int, first: int, bank: LevelBank, env: NavigationEnvironmentConfig
) -> list[int]:
    """Goals of the level in `slot` that an episode of task `kind` visits, in order."""
    if kind != PATROL:
        return [first]
    row, here = np.array([slot]), np.array([first])
    order = [int(first)]
    for _ in range(int(bank.tour_stops(row, env.patrol_goals)[0]) - 1):
        here = bank.next_goals(row, here)
        order.append(int(here[0]))
    return order


def rest_of_tour(
    task: TaskState, bank: LevelBank, env: NavigationEnvironmentConfig
) -> Floats:
    """Shortest path from the present goal's disc past all later goals, shape (N,), [m].

    0 without further goals. A lower bound: segments inside the discs do not count.
    """
    rest = np.zeros(len(task.kind))
    rows = np.flatnonzero(task.kind == PATROL)
    slots, here = task.slot[rows], task.index[rows]
    counts = bank.tour_stops(slots, env.patrol_goals)
    for k in range(1, counts.max(initial=0)):
        there = bank.next_goals(slots, here)
        way = bank.distance(slots, there, bank.goals[slots, here])
        further = (task.visited[rows] + k < counts) & np.isfinite(way)
        leg = np.maximum(way - 2.0 * env.goal_radius, 0.0)
        rest[rows] += np.where(further, leg, 0.0)
        here = there
    return rest


def reached_for(task: TaskState) -> Floats:
    """Points for hands to reach, NaN without one. Shape (N, 3), [m]."""
    return np.where((task.kind == REACH)[:, None], task.goal, np.nan)


def advance_tasks(
    task: TaskState,
    state: WorldState,
    bank: LevelBank,
    env: NavigationEnvironmentConfig,
    dt: float,
) -> tuple[Floats, Bools]:
    """Move goals and mark those reached in the last step of `dt` seconds.

    Returns:
        The fraction of each task's goals that was reached now, shape (N,), and the mask of envs
        with a new goal, shape (N,). `task.solved` is updated.
    """
    reached = np.zeros(len(task.kind))
    switched = np.zeros(len(task.kind), np.bool_)
    floors = goal_places(task, bank)[:, 2]
    level = np.abs(state.position[:, 2] - floors) < SAME_FLOOR
    above = level & ~state.falling
    near = above & (np.hypot(*(task.goal - state.position)[:, :2].T) < env.goal_radius)
    simple = near & (task.kind == NAVIGATE)
    reached[simple] = 1.0
    task.solved[simple] = True
    if (task.kind == NAVIGATE).all():
        return reached, switched
    moving = task.kind == FOLLOW
    if moving.any():
        _move_goals(task, np.flatnonzero(moving), bank, env.follow_speed * dt)
        task.held[:] = np.where(moving & near, task.held + dt, 0.0)
        done = moving & (task.held >= FOLLOW_HOLD)
        reached[done] = 1.0
        task.solved[:] |= done
    touch = above & (hand_distance(task, state) < env.reach_radius)
    touch &= task.kind == REACH
    reached[touch] = 1.0
    task.solved[:] |= touch
    stop = near & (task.kind == PATROL)
    if stop.any():
        count = bank.tour_stops(task.slot, env.patrol_goals)
        reached[stop] = 1.0 / count[stop]
        task.visited[stop] += 1
        done = stop & (task.visited >= count)
        task.solved[:] |= done
        switched = stop & ~done
        task.index[switched] = bank.next_goals(
            task.slot[switched], task.index[switched]
        )
        task.goal[switched] = bank.goals[task.slot[switched], task.index[switched]]
    return reached, switched


def goal_places(task: TaskState, bank: LevelBank) -> Floats:
    """The goals, or the floor below points to reach, shape (N, 3), [m]."""
    places: Floats = task.goal.copy()
    floors = bank.goals[task.slot, task.index, 2]
    places[:, 2] = np.where(task.kind == REACH, floors, places[:, 2])
    return places


def _move_goals(task: TaskState, envs: Ints, bank: LevelBank, step: float) -> None:
    """Move goals back and forth between the goals of their level.

    They stay on the floor, and turn back where the path continues only by lift.
    """
    slots, ends = task.slot[envs], task.heading_for[envs]
    way = bank.direction(slots, ends, task.goal[envs])
    task.goal[envs, :2] += step * way
    task.goal[envs, 2] = bank.floor(slots, ends, task.goal[envs])
    left = bank.distance(slots, ends, task.goal[envs])
    turn = envs[~(left > 0.5) | ~way.any(axis=1)]
    task.heading_for[turn] = (task.heading_for[turn] + 1) % GOALS


def hand_distance(task: TaskState, state: WorldState) -> Floats:
    """Distance from the nearer hand to the goal, shape (N,), [m]."""
    hands = hand_positions(state, "world") + state.position[:, None]
    return np.linalg.norm(hands - task.goal[:, None], axis=2).min(axis=1)


def task_distance(
    task: TaskState, state: WorldState, bank: LevelBank, geodesic: bool
) -> tuple[Floats, Floats]:
    """Distance for progress, and straight distance, shape (N,), [m].

    With `geodesic`, the walking detour around obstacles is added for static goals; inf if
    unreachable (a falling player).
    """
    euclid = np.hypot(*(task.goal - state.position)[:, :2].T)
    distance = euclid
    if (task.kind == REACH).any():
        distance = np.where(task.kind == REACH, hand_distance(task, state), euclid)
    if geodesic:
        walk = bank.distance(task.slot, task.index, state.position)
        detour = np.maximum(walk - euclid, 0.0)
        distance = distance + np.where(task.kind == FOLLOW, 0.0, detour)
    return distance, euclid
