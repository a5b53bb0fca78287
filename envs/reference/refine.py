"""A captured cycle changed a little until the ground can really make it.

Inverse dynamics of a captured cycle leaves a force on the root that no ground force
explains. Here the cycle's Fourier coefficients are moved until that force is gone, feet
stand still where they touch, and joint torques are small. It is a nonlinear least-squares
problem in which the ground forces are eliminated: for every trial motion they are the
non-negative solution of a linear one (variable projection, Kaufman's form of the Jacobian:
L. Kaufman, BIT 15, 1975). Which sole ball stands when is taken from the captured cycle.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.optimize import nnls

from ambulo.configs.arrays import Floats
from ambulo.envs.reference.cycle_coordinates import CycleCoordinates
from ambulo.envs.reference.inverse_dynamics import EDGES
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.reference.stance_schedule import DEPTH, stance_schedule
from ambulo.motion.gaits.cycle import resynthesized

log = logging.getLogger(__name__)

Ball = tuple[int, Floats, float]
"""Body, place in its frame (3,), [m], radius, [m]."""

HARMONICS = 7
"""Harmonics of every coordinate."""
PHASES = 64
"""Phases at which the equations of motion are asked for."""
CLEARANCE = 0.002
"""Height that other balls should keep, [m]."""
FORCE_SCALE, MOMENT_SCALE = 3.0, 1.0
"""Root force, [N], and moment, [N m], that cost 1."""
TORQUE_SCALES: dict[str, float] = {
    "hip": 50.0, "knee": 50.0, "ankle": 80.0, "subtalar": 20.0, "mtp": 1.5,
    "Talus": 80.0, "Foot": 5.0,
}  # fmt: skip
"""Torque of a joint, by the start of its name, that costs 1, [N m]."""
TORQUE_GOALS: dict[str, float] = {"mtp": 2.0}
"""Torque that is wanted of a joint, [N m]; 0 for the others."""
PLACE_SCALE, SINK_SCALE = 0.002, 0.0015
"""Distance of a standing ball from its place, and depth of another one, that cost 1, [m]."""
ROOT_SCALE, TILT_SCALE, JOINT_SCALE = 0.03, 0.06, 0.12
"""Change of the captured motion that costs 1, [m], [rad], [rad]."""
ACCELERATIONS = (2.0, 20.0, 100.0)
"""Accelerations of root place, root turn and joints that cost 1, [m/s^2], [rad/s^2]."""
AIR_COST, GROUND_COST = 0.08, 0.0003
"""Cost of a force of a ball in the air and on the ground, [1/N]."""
ENOUGH = 0.003
"""Relative gain of a step below which the search ends."""


@dataclass(frozen=True, eq=False)
class RefinedCycle:
    """A cycle that obeys the equations of motion."""

    table: ReferenceTable
    """Joint states and torques."""
    residual_force: float
    """Root mean square of the root force that is left, [N]."""
    residual_moment: float
    """The same of the moment, [N m]."""
    moved: float
    """Root mean square change of the joint angles, [rad]."""


def refined(
    model: mujoco.MjModel,
    balls: list[Ball],
    qpos: Floats,
    period: float,
    stride: Floats,
    *,
    rounds: int = 12,
    samples: int | None = None,
) -> RefinedCycle:
    """The cycle nearest to `qpos` that ground forces at `balls` and joint torques make.

    Args:
        model: A free joint first, then joints of any kind, some hinges and slides tied.
        balls: What touches the ground.
        qpos: One cycle at N equal phases, a multiple of `PHASES`, (N, nq).
        period: Its duration, [s].
        stride: How far it goes, [m]. (3,).
        rounds: Most Gauss-Newton steps.
        samples: Phases of the result; N if None.
    """
    search = _Search(model, balls, qpos, period, stride)
    found = search.run(rounds)
    return search.result(found, len(qpos) if samples is None else samples)


@dataclass
class _Sum:
    """Cost, and its normal equations if they are asked for."""

    cost: float
    residual: Floats
    matrix: Floats
    vector: Floats


class _Search:
    """The least-squares problem."""

    def __init__(
        self,
        model: mujoco.MjModel,
        balls: list[Ball],
        qpos: Floats,
        period: float,
        stride: Floats,
    ) -> None:
        self.model, self.period, self.stride = model, period, stride
        self.coordinates = CycleCoordinates(model, qpos)
        self.coupling = self.coordinates.coupling
        self.free = self.coupling.independent
        self.bare = model.__copy__()
        for flag in ("mjDSBL_CONSTRAINT", "mjDSBL_ACTUATION"):
            self.bare.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, flag))
        self.data = mujoco.MjData(self.bare)
        self.bodies = np.array([b for b, _, _ in balls])
        self.offsets = np.array([at for _, at, _ in balls])
        self.radii = np.array([r for _, _, r in balls])
        names = [model.joint(int(j)).name for j in model.dof_jntid[self.free[6:]]]
        scales = [_by_name(TORQUE_SCALES, n, 50.0) for n in names]
        self.goal = np.array(
            [0.0] * 6 + [_by_name(TORQUE_GOALS, n, 0.0) for n in names]
        )
        self.weight = 1.0 / np.r_[[FORCE_SCALE] * 3, [MOMENT_SCALE] * 3, scales]
        kinds = [3, 3, len(names)]
        self.near = np.repeat([ROOT_SCALE, TILT_SCALE, JOINT_SCALE], kinds)
        self.slow = np.repeat(ACCELERATIONS, kinds)
        self.full = len(qpos)
        places = np.array([self._balls_at(q) for q in qpos])
        self.standing, self.anchors = stance_schedule(places, period, stride)
        self._grid(PHASES)
        every = self.full // PHASES
        start = self.coordinates.of(qpos[::every], self.progress)
        self.start = np.linalg.lstsq(self.waves[0], start, rcond=None)[0]

    def run(self, rounds: int) -> Floats:
        """The best coefficients, by Gauss-Newton with a damping and a line search."""
        best: Floats = np.array(self.start, dtype=np.float64)
        now, damping = self._sum(best, normal=True), 1e-3
        for _ in range(rounds):
            lifted = now.matrix + damping * np.diag(np.diag(now.matrix))
            step = np.asarray(-np.linalg.solve(lifted, now.vector), dtype=np.float64)
            step = step.reshape(len(self.free), -1).T
            for share in (1.0, 0.5, 0.2, 0.05):
                trial = self._sum(best + share * step)
                if trial.cost < now.cost:
                    break
            else:
                damping *= 10.0
                if damping > 10.0:
                    break
                continue
            gain = 1.0 - trial.cost / now.cost
            best = np.asarray(best + share * step, dtype=np.float64)
            now = self._sum(best, normal=True)
            damping = max(damping / 4.0, 1e-7) if share == 1.0 else damping * 2.0
            log.debug("cost %.1f, step %.2f", now.cost, share)
            if gain < ENOUGH:
                break
        return best

    def result(self, found: Floats, samples: int) -> RefinedCycle:
        """The cycle of coefficients `found` at `samples` equal phases.

        The root force that is left is that at all phases of the input.
        """
        moved = self.waves[0] @ (found - self.start)
        self._grid(self.full)
        left = self._sum(found).residual
        self._grid(samples)
        qpos, qvel, _ = self._state(found)
        torque = np.zeros_like(qvel)
        joints = resynthesized(left[:, 6:] + self.goal[6:], 16, samples)
        torque[:, self.free[6:]] = joints
        table = ReferenceTable(self.period, self.stride, qpos, qvel, torque)
        return RefinedCycle(
            table,
            float(np.sqrt(np.square(left[:, :3]).sum(axis=1).mean())),
            float(np.sqrt(np.square(left[:, 3:6]).sum(axis=1).mean())),
            float(np.sqrt(np.square(moved[:, 6:]).mean())),
        )

    def _grid(self, count: int) -> None:
        """Look at `count` phases: waves and their first two derivatives, (count, h)."""
        share = np.arange(count) / count
        turns = 2.0 * np.pi * share[:, None] * np.arange(1, HARMONICS + 1)
        waves = np.ones((count, 2 * HARMONICS + 1))
        waves[:, 1::2], waves[:, 2::2] = np.cos(turns), np.sin(turns)
        rate = np.zeros((2 * HARMONICS + 1,) * 2)
        for k in range(1, HARMONICS + 1):
            pace = 2.0 * np.pi * k / self.period
            rate[2 * k - 1, 2 * k], rate[2 * k, 2 * k - 1] = pace, -pace
        self.waves = (waves, waves @ rate, waves @ rate @ rate)
        self.progress = share[:, None] * self.stride
        self.every = self.full // count

    def _state(self, c: Floats) -> tuple[Floats, Floats, Floats]:
        """qpos, qvel and qacc of coefficients `c` (h, n) at the phases looked at."""
        x, rate, change = (w @ c for w in self.waves)
        pace = self.stride / self.period
        return self.coordinates.states(
            x, rate, change, self.progress, pace, self.period
        )

    def _balls_at(self, qpos: Floats) -> Floats:
        """Lowest places (P, 3) of the balls at `qpos` (nq,), [m]."""
        self.data.qpos[:] = qpos
        mujoco.mj_kinematics(self.bare, self.data)
        return self._balls()

    def _balls(self) -> Floats:
        turns = self.data.xmat[self.bodies].reshape(-1, 3, 3)
        places = self.data.xpos[self.bodies] + np.einsum(
            "pij,pj->pi", turns, self.offsets
        )
        places[:, 2] -= self.radii
        return np.asarray(places)

    def _sum(self, c: Floats, *, normal: bool = False) -> _Sum:
        """Cost and residual forces of coefficients `c` (h, n), and normal equations."""
        states = self._state(c)
        tied = self.coupling.matrix(states[0])
        h, n = c.shape
        x = self.waves[0] @ c
        chain = self.coordinates.chain(x, states[1], states[2], self.period)
        out = _Sum(
            0.0, np.zeros((len(states[0]), n)), np.zeros((n * h,) * 2), np.zeros(n * h)
        )
        for t in range(len(states[0])):
            links = [[part[t] for part in parts] for parts in chain]
            self._phase(t, [s[t] for s in states], tied[t], links, out, normal)
        self._prior(c, out, normal)
        return out

    def _phase(
        self,
        t: int,
        state: list[Floats],
        tied: Floats,
        links: list[list[Floats]],
        out: _Sum,
        normal: bool,
    ) -> None:
        """Add phase `t` to `out`."""
        data, weight = self.data, self.weight
        data.qpos[:], data.qvel[:], data.qacc[:] = state
        mujoco.mj_inverse(self.bare, data)
        places = self._balls()
        jacobian = np.zeros((len(places), 3, self.model.nv))
        for p, place in enumerate(places):
            mujoco.mj_jac(self.bare, data, jacobian[p], None, place, self.bodies[p])
        jacobian = jacobian @ tied
        needed = tied.T @ data.qfrc_inverse - self.goal
        on = self.standing[t * self.every]
        rays = np.einsum("pcv,ec->vpe", jacobian, EDGES).reshape(len(needed), -1)
        damping = np.diag(np.repeat(GROUND_COST + AIR_COST * (1.0 - on) ** 2, 4))
        system = np.concatenate([weight[:, None] * rays, damping])
        goal = np.r_[weight * needed, np.zeros(len(damping))]
        lengths, _ = nnls(system, goal, maxiter=30 * system.shape[1])
        left = goal - system @ lengths
        out.residual[t] = needed - rays @ lengths
        apart = on[:, None] * (places - self.anchors[t * self.every]) / PLACE_SCALE
        over = places[:, 2] + DEPTH - CLEARANCE * (1.0 - on)
        sunk = np.minimum(over, 0.0) * (1.0 - on) / SINK_SCALE
        out.cost += float(
            np.square(left).sum() + np.square(apart).sum() + np.square(sunk).sum()
        )
        if not normal:
            return
        forces = lengths.reshape(-1, 4) @ EDGES
        slopes = _chained(self._slopes(tied, places, jacobian, forces), links)
        active = system[:, lengths > 0.0]
        size = len(needed)
        keep = np.eye(size)
        if active.shape[1]:
            keep -= active[:size] @ np.linalg.solve(active.T @ active, active[:size].T)
        rows = sum(
            np.einsum("ri,b->rib", keep @ (weight[:, None] * slope), wave[t])
            for slope, wave in zip(slopes, self.waves, strict=True)
        )
        rows = np.asarray(rows).reshape(size, -1)
        moving = jacobian @ links[0][0]
        touch = (on[:, None, None] * moving / PLACE_SCALE).reshape(-1, size)
        sink = moving[:, 2] * ((over < 0.0) * (1.0 - on) / SINK_SCALE)[:, None]
        held, error = np.concatenate([touch, sink]), np.r_[apart.ravel(), sunk]
        wave = self.waves[0][t]
        both = np.einsum("ij,b,c->ibjc", held.T @ held, wave, wave)
        out.matrix += rows.T @ rows + both.reshape(out.matrix.shape)
        out.vector += rows.T @ (weight * out.residual[t])
        out.vector += np.outer(held.T @ error, wave).ravel()

    def _slopes(
        self, tied: Floats, places: Floats, jacobian: Floats, forces: Floats
    ) -> list[Floats]:
        """Derivatives (n, n) of the needed force by position, velocity, acceleration.

        The ground forces are held and move with the balls; that changes their moment on
        the root, which is in the root's own frame. The change of the ties' slopes and of
        the moments on the joints is left out.
        """
        nv = self.model.nv
        whole = [np.zeros((nv, nv)) for _ in range(3)]
        none = [None] * 4
        mujoco.mjd_inverseFD(self.bare, self.data, 1e-6, 1, *whole, *none)
        slopes = [tied.T @ w.T @ tied for w in whole]
        arms = jacobian.copy()
        arms[:, :, :3] -= np.eye(3)
        turn = self.data.xmat[self.model.jnt_bodyid[0]].reshape(3, 3)
        moment = turn.T @ np.cross(places - self.data.qpos[:3], forces).sum(axis=0)
        change = (
            turn.T
            @ np.cross(arms.swapaxes(1, 2), forces[:, None], axis=-1).sum(axis=0).T
        )
        change[:, 3:6] -= np.cross(np.eye(3), moment).T
        slopes[0][3:6] -= change
        return slopes

    def _prior(self, c: Floats, out: _Sum, normal: bool) -> None:
        """Stay near the captured motion, within the joints' ranges, and smooth."""
        waves, _, bends = self.waves
        h = len(c)
        gone = waves @ (c - self.start) / self.near
        bent = bends @ c / self.slow
        order = np.r_[0, np.repeat(np.arange(1, HARMONICS + 1), 2)]
        high = 0.03 * order**2 * np.sqrt(len(waves) / 2.0)
        ripple = high[:, None] * (c - self.start) / self.near
        angles = waves @ c[:, self.coordinates.plain]
        beyond = np.minimum(angles - self.coordinates.low - 0.04, 0.0)
        over = np.maximum(angles - self.coordinates.high + 0.04, 0.0)
        beyond = 100.0 * (beyond + over)
        out.cost += sum(float(np.square(v).sum()) for v in (gone, bent, ripple, beyond))
        for i in range(len(self.free) if normal else 0):
            part = slice(i * h, (i + 1) * h)
            matrix = (
                waves.T @ waves / self.near[i] ** 2
                + np.diag(high**2) / self.near[i] ** 2
            )
            matrix += bends.T @ bends / self.slow[i] ** 2
            vector = (waves.T @ gone[:, i] + high * ripple[:, i]) / self.near[i]
            vector += bends.T @ bent[:, i] / self.slow[i]
            for k in np.flatnonzero(self.coordinates.plain == i):
                out_of = waves[beyond[:, k] != 0.0]
                matrix += 1e4 * out_of.T @ out_of
                vector += 100.0 * waves.T @ beyond[:, k]
            out.matrix[part, part] += matrix
            out.vector[part] += vector


def _chained(slopes: list[Floats], links: list[list[Floats]]) -> list[Floats]:
    """Slopes by position, velocity and acceleration as those by the coordinates'."""
    place, speed, bend = slopes
    return [
        place @ links[0][0] + speed @ links[1][0] + bend @ links[2][0],
        speed @ links[1][1] + bend @ links[2][1],
        bend @ links[2][2],
    ]


def _by_name(table: dict[str, float], name: str, default: float) -> float:
    """The entry of `table` with which `name` starts."""
    return next((v for start, v in table.items() if name.startswith(start)), default)
