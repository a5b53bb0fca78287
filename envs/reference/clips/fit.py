"""A clip or cycle as a movement that the simulated body really makes: windowed iterative LQR.

The body is simulated from the clip's first state. Every few control steps the offsets of the
next twenty joint targets are improved (`balance.improve`), with the cost to go of a
regulator along the whole clip behind the window, and some are taken. What comes out is
a reference like any other: states at the rate of the physics, the torques that were wanted,
and gains of the regulator along it. No force holds the root.

A cycle is a clip that closes: it is repeated, and of what the body makes of it the middle
cycle is taken. After one cycle the next differ by 2 mrad; this gap is closed along the cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.balance import (
    FITTING,
    BalanceController,
    Weights,
    improve,
    regulate,
    steps_along,
    window_cost,
)
from ambulo.envs.reference.clips.closing import CYCLES, closed, repeated
from ambulo.envs.reference.clips.survival import (
    CLIP,
    CYCLE,
    best_feedback,
    fallen,
)
from ambulo.envs.reference.linearization import (
    Knot,
    Slopes,
    Step,
    deviations,
    follow,
    start,
)
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.envs.state_arrays import Arrays
from ambulo.muscle.coupling import joint_coupling

WINDOW, ITERATIONS = 20, 3
"""Control steps that are looked ahead, and most improvements before steps are taken. With one
a body that shifts its weight from foot to foot falls, with three it stays within 5 cm."""
WHOLE_ITERATIONS = 6
"""Most improvements of a clip as a whole, of bodies that end far from it."""
WORTH = 0.02
"""Part of the cost from which an improvement is followed by another."""
SHARES = (1.0, 0.7, 0.4, 0.2, 0.1, 0.0)
"""Parts of an improvement that are tried."""
LARGEST_OFFSET = 0.8
"""Largest offset of a joint target, [rad]."""
SAME_POSITION, SAME_VELOCITY, SAME_OFFSET = 0.02, 0.3, 0.04
"""Changes below which the slopes of a control step are not measured anew."""

FIRM = replace(FITTING, place=100.0)
"""Costs that keep bodies with weak ankles, which fall behind, in their place."""
ATTEMPTS = (
    (0.5, 8, FITTING, 0.04),
    (0.5, 8, FIRM, 0.1),
    (0.5, 4, FITTING, 0.1),
    (1.0, 4, FITTING, 0.1),
)
"""Factors on the differences that slopes are measured by, control steps that are taken at a
time, costs, and the largest distance from the clip with which no other attempt is made, [m]."""

Progress = Callable[[int, int], None]
"""Called with control steps done and all."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """The movement that a body makes of a clip."""

    table: ReferenceTable
    """What it does, at the rate of the physics."""
    controller: BalanceController
    """Feedback along it, one gain matrix a control step."""
    offsets: Floats
    """Offsets of the clip's joint targets, [rad]. Shape (K, U)."""
    gap: float = 0.0
    """Root mean square of what a cycle missed its own beginning by, [m], [rad]."""


def fit(
    character: Character,
    table: ReferenceTable,
    *,
    control_dt: float,
    dofs: Ints | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Make a clip or cycle feasible for a body.

    Args:
        character: The body, driven by motors.
        table: The clip (`raw_clip`), or a cycle, whose period becomes a multiple of
            `control_dt` at the same stride.
        control_dt: Duration of a control step, [s].
        dofs: Degrees of freedom whose targets feedback moves; all joints' if None.
        progress: Told after each window.
    """
    tell = progress or (lambda done, of: None)
    tried: list[_Fit] = []
    for scale, commit, weights, near in ATTEMPTS:
        tried.append(_Fit(character, table, control_dt, scale, weights))
        known = [one.steps for one in tried[:-1] if one.scale == scale]
        tried[-1].run(tell, commit, known[0] if known else None)
        best = min(tried, key=lambda one: one.farthest)
        if best.farthest < near:
            break
    if best.farthest >= ATTEMPTS[0][3] and not table.periodic:
        whole = copy(best)
        whole.improve_whole(tell)
        best = min(best, whole, key=lambda one: one.farthest)
    return best.result(dofs)


class _Fit:
    """The state of a fit; N = 1 body that is simulated, 6 that try."""

    def __init__(
        self,
        character: Character,
        table: ReferenceTable,
        control_dt: float,
        step_scale: float,
        weights: Weights,
    ) -> None:
        self._character, self._dt = character, control_dt
        self._substeps = round(control_dt / character.model.opt.timestep)
        self._coupling = joint_coupling(character.model)
        self._free: Ints = self._coupling.independent
        self._cycle = 0
        """Control steps of a cycle; 0 of a clip."""
        self._stride = table.stride
        if table.periodic:
            self._cycle = max(1, round(table.period / control_dt))
            table = repeated(table, character.model, self._cycle * control_dt)
        self._table = table
        self._count = int(table.period / control_dt + 1e-6)
        self._dofs: Ints = self._free[6:]
        self._slopes = Slopes(character, table, self._dofs, self._substeps, step_scale)
        self._body = self._simulation(1)
        self._tries = self._simulation(len(SHARES))
        self._known: dict[int, tuple[Knot, Step]] = {}
        self._weights = weights
        self.scale = step_scale
        """Factor on the differences."""
        self.steps: list[Step] = []
        """Slopes along the clip, one a control step."""

    def run(
        self, progress: Progress, commit: int, steps: list[Step] | None = None
    ) -> None:
        """Simulate the clip from its first to its last control step, `commit` at a time.

        `steps` are the slopes along the clip, if they are known.
        """
        self.steps = [] if steps is None else steps
        for k in range(len(self.steps), self._cycle or self._count):
            self.steps.append(self._slopes.at(self._on_clip(k)))
            progress(k // 4, self._count)
        if self._cycle:
            self.steps = (CYCLES * self.steps)[: self._count]
        nothing = np.zeros((0, len(self._dofs)))
        self._simulate(progress, nothing, commit, WINDOW, ITERATIONS)

    def improve_whole(self, progress: Progress) -> None:
        """Improve all offsets at once: the clip is one window.

        Windows cannot see that a body which is too weak had better begin earlier.
        """
        self._simulate(
            progress, self._offsets, self._count, self._count, WHOLE_ITERATIONS
        )

    def _simulate(
        self,
        progress: Progress,
        offsets: Floats,
        commit: int,
        window: int,
        iterations: int,
    ) -> None:
        """Simulate from the first control step with improved offsets, and take these.

        Args:
            progress: Called after each window.
            offsets: Those that are known from the first control step on. Shape (H, U).
            commit: Control steps that are taken of a window.
            window: Control steps that are looked ahead.
            iterations: Most improvements of a window.
        """
        values, self._gains = regulate(self.steps, self._weights)
        first = self._on_clip(0)
        start(
            self._body,
            np.zeros(1),
            first.qpos[None],
            first.qvel[None],
            first.torque[None],
        )
        taken: list[Floats] = []
        self._rows = [(first.qpos, first.qvel, first.torque)]
        self._aims = list(self._rows)
        for begin in range(0, self._count, commit):
            length = min(window, self._count - begin)
            if fallen(self._body, self._table)[0]:
                offsets = np.zeros((length, len(self._dofs)))
            else:
                end = values[begin + length]
                offsets = self._window(begin, length, offsets, end, iterations)
            for k in range(begin, min(begin + commit, self._count)):
                self._take(offsets[k - begin])
                taken.append(offsets[k - begin])
            offsets = offsets[commit:]
            progress(self._count // 4 + 3 * (begin + commit) // 4, self._count)
        self._offsets = np.array(taken)

    @property
    def farthest(self) -> float:
        """Largest distance of the root from the clip, [m]; two radians count as a metre."""
        qpos = np.array([row[0] for row in self._rows])
        apart = self._body.tangent.difference(
            qpos, self._table.qpos[: len(qpos)].copy()
        )
        place, turn = (np.linalg.norm(apart[:, k : k + 3], axis=1) for k in (0, 3))
        return float(np.maximum(place, 0.5 * turn).max())

    def _simulation(self, count: int) -> CharacterSimulation:
        return CharacterSimulation(
            self._character, count, substeps=self._substeps, threads=0
        )

    def _on_clip(self, k: int) -> Knot:
        """The clip's own state at the beginning of control step `k`."""
        return Knot.on(self._table, k * self._dt, len(self._dofs))

    def _window(
        self, begin: int, length: int, offsets: Floats, end: Floats, iterations: int
    ) -> Floats:
        """Improved offsets of `length` control steps; `offsets` are known of the first."""
        state = self._body.state_dict()
        zeros = np.zeros((length, len(self._dofs)))
        plans = [
            self._play(state, begin, length, given)
            for given in (
                offsets,
                np.concatenate([offsets, zeros[len(offsets) :]]),
                zeros,
            )
        ]
        costs = [
            float(self._cost(row[:, None], used[:, None], end)[0])
            for _, row, used, _ in plans
        ]
        knots, deviation, offsets, _ = plans[int(np.nanargmin(costs))]
        for _ in range(iterations):
            steps = [self._step(begin + k, knot) for k, knot in enumerate(knots)]
            change, feedback = improve(steps, deviation, offsets, end, self._weights)
            less, tried = self._search(state, knots, change, feedback, end)
            if less == 0.0:
                break
            knots, deviation, offsets, _ = self._play(state, begin, length, tried)
            if less < WORTH:
                break
        return offsets

    def _cost(self, deviation: Floats, offsets: Floats, end: Floats) -> Floats:
        return window_cost(deviation, offsets, end, self._weights)

    def _play(
        self, state: Arrays, begin: int, length: int, given: Floats
    ) -> tuple[list[Knot], Floats, Floats, Floats]:
        """Simulate a window; where no offsets are given, those of the regulator."""
        body = self._body
        body.load_state_dict(state)
        knots, rows, offsets = [], [self._deviation(body)[0]], []
        for k in range(length):
            if k < len(given):
                now = given[k]
            else:
                now = _bounded(-self._gains[begin + k] @ np.clip(rows[-1], -2.0, 2.0))
            knots.append(self._knot(now))
            self._follow(body, now[None])
            rows.append(self._deviation(body)[0])
            offsets.append(now)
        body.load_state_dict(state)
        return knots, np.array(rows), np.array(offsets), np.array(rows[-1])

    def _knot(self, offsets: Floats) -> Knot:
        body = self._body
        torque = np.zeros(int(body.model.nv))
        torque[body.driven] = body.torque[0]
        return Knot(
            float(body.time[0]),
            body.qpos[0].copy(),
            body.qvel[0].copy(),
            torque,
            offsets,
        )

    def _step(self, k: int, knot: Knot) -> Step:
        """Slopes of control step `k`, those of before if hardly anything has changed."""
        known = self._known.get(k)
        if known is not None and self._same(known[0], knot):
            return known[1]
        step = self._slopes.near(self.steps[k], knot)
        self._known[k] = (knot, step)
        return step

    def _same(self, one: Knot, two: Knot) -> bool:
        moved = self._body.tangent.difference(one.qpos[None], two.qpos[None])
        return bool(
            np.abs(moved).max() < SAME_POSITION
            and np.abs(one.qvel - two.qvel).max() < SAME_VELOCITY
            and np.abs(one.offsets - two.offsets).max() < SAME_OFFSET
        )

    def _search(
        self,
        state: Arrays,
        knots: list[Knot],
        change: Floats,
        feedback: Floats,
        end: Floats,
    ) -> tuple[float, Floats]:
        """By which part the best share lowers the cost, and its offsets (H, U)."""
        tries, count = self._tries, len(SHARES)
        tries.load_state_dict(
            {name: np.repeat(array, count, axis=0) for name, array in state.items()}
        )
        deviation, used = [self._deviation(tries)], []
        for k, knot in enumerate(knots):
            apart = tries.tangent.difference(
                tries.qpos, np.repeat(knot.qpos[None], count, axis=0)
            )
            apart = np.concatenate(
                [apart[:, self._free], (tries.qvel - knot.qvel)[:, self._free]], axis=1
            )
            now = knot.offsets + np.outer(SHARES, change[k]) + apart @ feedback[k].T
            used.append(_bounded(now))
            self._follow(tries, used[-1])
            deviation.append(self._deviation(tries))
        cost = self._cost(np.array(deviation), np.array(used), end)
        cost[(tries.fault > 0) | ~np.isfinite(cost)] = np.inf
        best = int(np.argmin(cost))
        less = 0.0
        if best < count - 1 and np.isfinite(cost[best]):
            less = 1.0 - float(cost[best] / cost[-1])
        return less, np.array(used)[:, best]

    def _take(self, offsets: Floats) -> None:
        """Take one control step for good."""
        body = self._body
        h = body.dt / body.substeps
        moved = self._spread(offsets[None])
        for _ in range(body.substeps):
            qpos, qvel, torque = self._table.at(body.time + h)
            target = body.tangent.moved(qpos, moved)
            body.step(target, qvel, torque)
            self._rows.append(self._row())
            self._aims.append((target[0], qvel[0], torque[0]))

    def _row(self) -> tuple[Floats, Floats, Floats]:
        body = self._body
        torque = np.zeros(int(body.model.nv))
        torque[body.driven] = body.torque[0]
        return body.qpos[0].copy(), body.qvel[0].copy(), torque

    def _follow(self, simulation: CharacterSimulation, offsets: Floats) -> None:
        follow(simulation, self._table, self._spread(offsets))

    def _spread(self, offsets: Floats) -> Floats:
        """Offsets (N, U) on all degrees of freedom, (N, nv)."""
        out = np.zeros((len(offsets), int(self._character.model.nv)))
        out[:, self._dofs] = offsets
        return out

    def _deviation(self, simulation: CharacterSimulation) -> Floats:
        """Deviations of independent coordinates from the clip (N, 2n)."""
        parts = deviations(simulation, self._table)
        return np.concatenate([part[:, self._free] for part in parts], axis=1)

    def result(self, dofs: Ints | None) -> Fitted:
        """The movement that was made, with gains for the targets of `dofs` along it."""
        own = [
            self._known[k][1] if k in self._known else self.steps[k]
            for k in range(self._count)
        ]
        gap = 0.0
        if self._cycle:
            first = CYCLES // 2 * self._cycle
            own = own[first : first + self._cycle]
            rows = slice(first * self._substeps, None)
            whole = _table(self._cycle * self._dt, self._rows[rows])
            steps = self._cycle * self._substeps
            table, gap = closed(
                whole, steps, self._stride, self._body.tangent, self._coupling
            )
        else:
            period = self._count * self._dt
            table = _table(period, self._rows)
            table = replace(table, aim=_table(period, self._aims))
        if dofs is None:
            dofs = self._dofs
        columns = np.searchsorted(self._dofs, dofs)
        slopes = (
            steps_along(self._character, table, dofs, control_dt=self._dt),
            [(a, b[:, columns]) for a, b in own],
        )
        trial = CYCLE if table.periodic else CLIP
        controller, _ = best_feedback(
            self._character, table, slopes, dofs, self._dt, trial
        )
        return Fitted(table, controller, self._offsets, gap)


def _table(period: float, rows: list[tuple[Floats, Floats, Floats]]) -> ReferenceTable:
    """Rows of positions, velocities and torques as a clip."""
    qpos, qvel, torque = (np.array(column) for column in zip(*rows, strict=True))
    return ReferenceTable(period, np.zeros(3), qpos, qvel, torque, periodic=False)


def _bounded(offsets: Floats) -> Floats:
    return np.clip(offsets, -LARGEST_OFFSET, LARGEST_OFFSET)
