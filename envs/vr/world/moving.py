"""The movers of many envs: their poses before and after a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.contract import BODY_RADIUS, WorldSpec
from ambulo.envs.vr.geometry.solid_kernels import BOX, PERSON
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import Mover, Walker, fastest, period_of
from ambulo.envs.vr.world import mover_kernels, moving_kernels
from ambulo.envs.vr.world.crowd_ways import PackedWays
from ambulo.envs.vr.world.mover_kernels import (
    BACK_AND_FORTH,
    LOOP,
    ONCE,
    RANDOM,
    MovingLevels,
    MovingState,
)
from ambulo.envs.vr.world.packed_solids import PackedSolids

_LOOPS = {"once": ONCE, "loop": LOOP, "back_and_forth": BACK_AND_FORTH}
_CROWD_COLUMNS = 8


class PackedThings:
    """Movers on paths of each slot's level, in flat arrays."""

    def __init__(self) -> None:
        """Create it without slots."""
        self._slots: list[tuple[list[Floats], list[Floats]]] = []
        self._arrays: tuple[Ints, Floats, Floats] | None = None

    def set(self, slots: Sequence[int], levels: Sequence[Level]) -> None:
        """Put the movers of `levels[i]` into slot `slots[i]`."""
        for slot, level in zip(slots, levels, strict=True):
            self._slots += [([], [])] * (slot + 1 - len(self._slots))
            walkers = level.people.walkers if level.people is not None else ()
            radius = level.people.radius if level.people is not None else 0.0
            things: list[Mover | Walker] = [*level.movers, *walkers]
            self._slots[slot] = (
                [_thing(thing, radius) for thing in things],
                [_keys(thing) for thing in things],
            )
        self._arrays = None

    def counts(self) -> Ints:
        """Number of movers of each slot, shape (S,)."""
        return np.array([len(things) for things, _ in self._slots], np.int64)

    @property
    def random(self) -> bool:
        """Whether any phase is drawn."""
        return any(row[7] == RANDOM for things, _ in self._slots for row in things)

    def arrays(self) -> tuple[Ints, Floats, Floats]:
        """Starts of slots (S + 1,), movers (T, 9), keyframes (K, 5)."""
        if self._arrays is None:
            first = np.concatenate([[0], np.cumsum(self.counts())])
            rows = [row for things, _ in self._slots for row in things]
            keys = [path for _, paths in self._slots for path in paths]
            things = np.array(rows, np.float64).reshape(-1, 9)
            ends = np.cumsum([len(path) for path in keys])
            if rows:
                things[:, 5] = ends
                things[1:, 4] = ends[:-1]
            self._arrays = (first, things, np.vstack([np.zeros((0, 5)), *keys]))
        return self._arrays


def _thing(thing: Mover | Walker, radius: float) -> Floats:
    """Half sizes, kind, (keyframes), loop, phase, period, for `place_on_path`."""
    half = thing.half_size if isinstance(thing, Mover) else (radius, radius, 0.0)
    kind = BOX if isinstance(thing, Mover) else PERSON
    phase = RANDOM if thing.phase is None else thing.phase
    period = period_of(thing.path, thing.loop)
    return np.array([*half, kind, 0, 0, _LOOPS[thing.loop], phase, period])


def _keys(thing: Mover | Walker) -> Floats:
    return np.pad(thing.path, ((0, 0), (0, 5 - thing.path.shape[1])))


class MovingThings:
    """Movers in the levels of N envs. Envs that share a level share its movers."""

    def __init__(self, num_envs: int, spec: WorldSpec) -> None:
        """Create it without movers and shared levels."""
        self.spec = spec
        """Settings of the world."""
        self._things, self._ways = PackedThings(), PackedWays()
        self._counts = np.zeros((0, 2), np.int64)
        self.state = MovingState(
            before=np.zeros((num_envs, 0, 9)),
            after=np.zeros((num_envs, 0, 9)),
            used=np.zeros(num_envs, np.int64),
            leader=np.arange(num_envs),
            mates=np.zeros((num_envs, 0), np.int64),
            present=np.zeros(num_envs, np.bool_),
            rng=np.arange(1, num_envs + 1, dtype=np.uint64),
            clock=np.zeros(num_envs, np.int64),
            phases=np.zeros((num_envs, 0)),
            crowd=np.zeros((num_envs, 0, _CROWD_COLUMNS)),
        )
        """Where everything is."""

    @property
    def some(self) -> bool:
        """Whether anything moves in any level, or envs share one."""
        return bool(self._counts.any()) or self.shared

    @property
    def is_random(self) -> bool:
        """Whether anything random moves in any level."""
        return bool(self._counts[:, 1].any()) or self._things.random

    @property
    def shared(self) -> bool:
        """Whether envs share levels."""
        return self.state.mates.shape[1] > 0

    def share(self, size: int) -> None:
        """Let every `size` consecutive envs share a level, from the next reset on."""
        envs = len(self.state.leader)
        if envs % size:
            raise ValueError(f"{envs} envs cannot share levels in groups of {size}")
        groups = np.arange(envs).reshape(-1, size)
        rows = np.repeat(groups, size, axis=0)
        others = rows != np.arange(envs)[:, None]
        self.state = self.state._replace(
            leader=np.repeat(groups[:, 0], size),
            mates=rows[others].reshape(envs, size - 1),
        )
        self._make_room()

    def set_levels(self, slots: Sequence[int], levels: Sequence[Level]) -> None:
        """Put `levels[i]` into slot `slots[i]`.

        Raises:
            LevelError: A mover is too fast for the ticks of this world.
        """
        for level in levels:
            self._check_speed(level)
        moving = self.shared or any(level.moving for level in levels)
        if not moving and not self._counts.any():
            rows = max([len(self._counts), *(slot + 1 for slot in slots)])
            self._counts = np.zeros((rows, 2), np.int64)
            return
        rows = max([len(self._counts), *(slot + 1 for slot in slots)])
        self._counts = np.pad(self._counts, ((0, rows - len(self._counts)), (0, 0)))
        self._things.set(slots, levels)
        self._ways.set(slots, levels)
        for slot, level in zip(slots, levels, strict=True):
            people = level.people
            walkers = 0 if people is None else len(people.walkers)
            crowd = 0 if people is None else people.count
            self._counts[slot] = len(level.movers) + walkers, crowd
        self._make_room()

    def seed(self, envs: Ints, seeds: Ints) -> None:
        """Seed the next episodes of `envs` (k,)."""
        seeds = np.asarray(seeds).astype(np.uint64)
        moving_kernels.seed_envs(np.asarray(envs, np.int64), seeds, self.state.rng)

    def begin(self, envs: Ints, slot: Ints, position: Floats) -> None:
        """Begin episodes of `envs`, whose agents are at `position` (N, 3).

        Where other agents of the level continue, its movers do, too.
        """
        now = self.state
        if not self.some:
            now.used[envs] = 0  # of the previous level of each
            return
        now.present[envs] = True
        begun = np.zeros(len(now.leader), np.bool_)
        begun[envs] = True
        mates: Ints = np.unique(now.mates[envs])
        fresh = envs[begun[now.mates[envs]].all(axis=1)]
        moving_kernels.begin(fresh, slot, position, self._levels(), now)
        self._place(envs, slot, position)
        # Also for agents that continue, or `envs` would have a velocity from their last
        # position.
        self.settle(mates[~begun[mates]], position)

    def advance(
        self, envs: Ints, slot: Ints, position: Floats, velocity: Floats,
        solids: tuple[NDArray[np.generic], ...],
    ) -> None:  # fmt: skip
        """Move everything in the levels of `envs` by one step; agents stay."""
        if self.some:
            moving_kernels.advance(
                envs, slot, position, velocity, self._levels(), self.state,
                self.spec.decision_dt, solids,
            )  # fmt: skip

    def settle(self, envs: Ints, position: Floats) -> None:
        """Update the positions of the other agents in the levels of `envs`."""
        if self.shared:
            moving_kernels.place_mates(envs, position, self.state)

    def leave(self, envs: Ints) -> None:
        """Remove `envs` from their level, for the other agents there, until their reset."""
        self.state.present[envs] = False

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Arrays for a continuation."""
        return {
            "moving_rng": self.state.rng,
            "moving_clock": self.state.clock,
            "moving_phases": self.state.phases,
            "crowd": self.state.crowd,
            "present": self.state.present,
        }

    def load(
        self, arrays: dict[str, NDArray[np.generic]], slot: Ints, position: Floats
    ) -> None:
        """Continue from `arrays`, which may have another number of rows."""
        for name, array in self.arrays().items():
            if name in arrays:
                saved = arrays[name]
                part = tuple(
                    slice(0, min(a, b))
                    for a, b in zip(array.shape, saved.shape, strict=True)
                )
                array[part] = saved[part]
        envs: Ints = np.flatnonzero(slot >= 0)
        if self.some and len(envs):
            self._place(envs, slot, position)

    def people(self, env: int) -> Floats:
        """People in the level of `env`: x, y, z, radius, shape (n, 4), [m]."""
        rows = self.rows(env)
        return rows[rows[:, 8] == PERSON][:, [0, 1, 6, 2]]

    def forecast(self, env: int, slot: int, times: Floats) -> Floats:
        """Predicted rows of movers at `times` (T,) [s] from now, shape (T, M, 9)."""
        first, things, keys = self._things.arrays()
        begin, end = int(first[slot]), int(first[slot + 1])
        lead = int(self.state.leader[env])
        rows = np.zeros((len(times), end - begin, 9))
        now, phases = self.state.clock[lead] * self.spec.decision_dt, self.state.phases
        for time, out in zip(times, rows, strict=True):
            mover_kernels.place_things(
                things, begin, end, keys, phases[lead], now + float(time), out
            )
        return rows

    def rows(self, env: int) -> Floats:
        """All movers in the level of `env`: rows of `solid_kernels`, shape (n, 9)."""
        return self.state.after[env, : self.state.used[env]]

    def crowd(self, env: int) -> Floats:
        """The crowd in the level of `env`: columns of `crowd_kernels`, shape (P, 8)."""
        return self.state.crowd[self.state.leader[env]]

    def boxes(self, env: int) -> Floats:
        """Movers in the level of `env`: x, y, a, b, cos, sin, bottom, top, shape (n, 8)."""
        rows = self.rows(env)
        return rows[rows[:, 8] == BOX][:, :8]

    def _place(self, envs: Ints, slot: Ints, position: Floats) -> None:
        """Place everything that `envs` can meet, at rest."""
        now = self.state
        moving_kernels.place(
            envs, slot, position, self._levels(), now, self.spec.decision_dt
        )
        now.before[envs] = now.after[envs]

    def _levels(self) -> MovingLevels:
        return MovingLevels(self._counts, *self._things.arrays(), self._ways.arrays())

    def _make_room(self) -> None:
        """Enlarge the arrays to the size of the largest level."""
        now = self.state
        things, crowd = self._counts.max(axis=0) if len(self._counts) else (0, 0)
        rows = int(self._counts.sum(axis=1).max(initial=0)) + now.mates.shape[1]
        self.state = now._replace(
            phases=_with_columns(now.phases, int(things)),
            crowd=_with_columns(now.crowd, int(crowd)),
            before=_with_columns(now.before, rows),
            after=_with_columns(now.after, rows),
        )

    def _check_speed(self, level: Level) -> None:
        """Raise `LevelError` if a mover would jump over a body within a tick."""
        spec = self.spec
        for k, mover in enumerate(level.movers):
            travel = (fastest(mover) + spec.max_speed) * spec.dt
            if travel > BODY_RADIUS:
                raise LevelError(
                    f"level {level.name!r}: movers[{k}] and the body move {travel:.3g} m "
                    f"in a tick of {spec.dt:.3g} s, at most {BODY_RADIUS}, or they pass "
                    "through each other: use more environment.physics_ticks_per_second"
                )


def _with_columns(array: Floats, columns: int) -> Floats:
    """`array` (N, M, ...) with at least `columns` columns."""
    missing = columns - array.shape[1]
    if missing <= 0:
        return array
    return np.pad(array, ((0, 0), (0, missing), *[(0, 0)] * (array.ndim - 2)))


@dataclass(frozen=True, eq=False)
class MovingBegun:
    """Initial state of the movers in a level, for an episode of an agent alone in it."""

    spec: WorldSpec
    """Settings of the world."""
    arrays: Mapping[str, NDArray[np.generic]]
    """Arrays of `MovingThings.arrays`, one row each."""

    @classmethod
    def of(cls, moving: MovingThings, env: int) -> MovingBegun:
        """Record the present movers in the level of `env`."""
        arrays = {k: a[env : env + 1].copy() for k, a in moving.arrays().items()}
        return cls(moving.spec, arrays)

    def rows(self, level: Level, position: Floats, velocity: Floats) -> Floats:
        """Rows of `solid_kernels` at the start and after each step, shape (T + 1, M, 9).

        Args:
            level: Level of the episode.
            position: Positions of the agent at the start and after each step, (T + 1, 3), [m].
            velocity: Its velocities, (T + 1, 3), [m/s].
        """
        moving, solids = MovingThings(1, self.spec), PackedSolids()
        solids.set([0], [level])
        moving.set_levels([0], [level])
        slot = np.zeros(1, np.int64)
        moving.load(dict(self.arrays), slot, position[:1].copy())
        found = [moving.rows(0).copy()]
        for place, speed in zip(position[:-1], velocity[:-1], strict=True):
            moving.advance(
                slot, slot, place[None].copy(), speed[None].copy(), solids.arrays()
            )
            found.append(moving.rows(0).copy())
        return np.array(found)


def between_rows(rows: Floats, at: Floats) -> Floats:
    """Rows (T, M, 9) interpolated at times `at` (F,) in steps, (F, M, 9)."""
    first = np.minimum(np.floor(at + 1e-9).astype(np.int64), max(len(rows) - 2, 0))
    before, after = rows[first], rows[np.minimum(first + 1, len(rows) - 1)]
    out: Floats = before + (at - first)[:, None, None] * (after - before)
    out[..., 4:6] /= np.maximum(np.hypot(out[..., 4], out[..., 5]), 1e-9)[..., None]
    return out
