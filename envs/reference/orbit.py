"""A cycle that the simulation itself repeats: the periodic orbit next to a reference.

Inverse dynamics knows contacts as ideal and torque as continuous; the simulated body, whose
contacts are soft and whose steps are finite, leaves such a reference at every touch-down.
Here states and torques are moved until each control step of the simulation ends where the
next one begins, all round the cycle: Gauss-Newton multiple shooting (M. Giftthaler et al.,
A family of iterative Gauss-Newton shooting methods for nonlinear optimal control, IROS
2018), whose linear-quadratic subproblem is solved by the periodic Riccati recursion.
"""

from __future__ import annotations

import logging

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.linearization import LinearSteps, linear_steps, start
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.muscle.coupling import joint_coupling
from ambulo.muscle.dynamics import mass_matrix

log = logging.getLogger(__name__)


EFFORT = 20.0
"""Cost of a target's change by one round, [1/rad^2]."""
ROOT_WEIGHT, ROOT_RATE_WEIGHT, JOINT_RATE_WEIGHT = 5.0, 0.05, 0.002
"""Costs of having moved the reference: root place and turn, their rates, and the joints'
rates, beside 1 of the joints' angles."""
FREQUENCY = 10.0
"""A gap's position counts as much as this many times its velocity, [1/s]."""
SHARES = (1.0, 0.6, 0.3, 0.1)
"""Shares of a round's change that are tried."""
GOOD_GAP, ENOUGH = 0.02, 0.1
"""Mean energy of the gaps, [J], and relative gain of a round at which the search ends."""
RICCATI_STEPS = 400
"""Fewest steps of the Riccati recursion."""


class OrbitSearch:
    """Gauss-Newton multiple shooting; P control steps, n coordinates, U motors.

    `table` is the best cycle so far, `gap` the mean energy, [J], of where its control steps
    end minus where the next ones begin; every `advance` brings it nearer to an orbit.
    """

    def __init__(
        self, character: Character, reference: ReferenceTable, control_dt: float
    ) -> None:
        """Begin at a reference.

        Args:
            character: The body, with motors.
            reference: A nearly physical cycle whose period is a multiple of `control_dt`.
            control_dt: Duration of a control step, [s].
        """
        self.character, self.goal, self.control_dt = character, reference, control_dt
        self.steps = max(1, round(reference.period / control_dt))
        self.substeps = round(control_dt / character.model.opt.timestep)
        self.simulation = CharacterSimulation(
            character, self.steps, substeps=self.substeps, threads=0
        )
        self.coupling = joint_coupling(character.model)
        self.free = self.coupling.independent
        self.size = len(self.free)
        self.times = np.arange(self.steps, dtype=np.float64) * control_dt
        self.weight = np.ones(2 * self.size)
        self.weight[:6] = ROOT_WEIGHT
        self.weight[self.size : self.size + 6] = ROOT_RATE_WEIGHT
        self.weight[self.size + 6 :] = JOINT_RATE_WEIGHT
        qpos, qvel, torque = reference.at(self.times)
        still = np.zeros_like(qvel)
        self.table = reference
        _, self.gap = self._shot(reference, qpos, qvel, torque, still)

    @property
    def moved(self) -> float:
        """Root mean square of how far the joints are from the reference's, [rad]."""
        joints = self._from_goal()[:, 6 : self.size]
        return float(np.sqrt(np.square(joints).mean()))

    def linearized(self) -> LinearSteps:
        """The control steps of `table`, by offsets of all motors' targets.

        Raises:
            MotionError: The simulation explodes beside the table.
        """
        return linear_steps(
            self.character, self.table, self.free[6:], control_dt=self.control_dt
        )

    def advance(self, steps: LinearSteps) -> bool:
        """Go on from `table`, of which `steps` is the linearisation; False: at the end."""
        change, offsets = self._solved(steps)
        qpos, qvel, torque = self.table.at(self.times)
        whole = np.zeros((3, *qvel.shape))
        whole[0][:, self.free] = change[:, : self.size]
        whole[1][:, self.free] = change[:, self.size :]
        whole[2][:, self.free[6:]] = offsets
        shots = []
        for share in SHARES:
            step, rate, wanted = share * whole
            places = self.coupling.closed(self.simulation.tangent.moved(qpos, step))
            rates = self.coupling.closed_velocity(places, qvel + rate)
            shots.append(self._shot(self.table, places, rates, torque, wanted))
        table, gap = min(shots, key=lambda shot: shot[1])
        gain = 1.0 - gap / self.gap
        if gain > 0.0:
            self.table, self.gap = table, gap
        log.debug("gap %.3f J", self.gap)
        return gain > ENOUGH and self.gap > GOOD_GAP

    def _shot(
        self,
        table: ReferenceTable,
        qpos: Floats,
        qvel: Floats,
        torque: Floats,
        offsets: Floats,
    ) -> tuple[ReferenceTable, float]:
        """What every control step along `table` does from its own state.

        Args:
            table: Targets and feed-forward torque.
            qpos: Where each step begins. Shape (P, nq).
            qvel: The velocities there. Shape (P, nv).
            torque: What acts there, [N m]. Shape (P, nv).
            offsets: How far the targets are moved, [rad]. Shape (P, nv).

        Returns:
            What they did, with the gaps closed along each step, and the gaps' mean energy,
            [J]; infinite after a fault.
        """
        simulation, s, p = self.simulation, self.substeps, self.steps
        start(simulation, self.times, qpos, qvel, torque)
        places, rates = np.empty((p, s, qpos.shape[1])), np.empty((p, s, qvel.shape[1]))
        forces = np.zeros_like(rates)
        h = simulation.dt / s
        places[:, 0], rates[:, 0] = qpos, qvel
        for j in range(1, s + 1):
            target, rate, feed = table.at(simulation.time + h)
            simulation.step(simulation.tangent.moved(target, offsets), rate, feed)
            # What a step applied stands at its end: so is a table looked up.
            forces[:, j % s, simulation.driven] = simulation.torque
            if j < s:
                places[:, j], rates[:, j] = simulation.qpos, simulation.qvel
        forces[:, 0] = np.roll(forces[:, 0], 1, axis=0)
        after, after_rate = np.roll(qpos, -1, axis=0), np.roll(qvel, -1, axis=0)
        after[-1, :3] += table.stride
        gap = simulation.tangent.difference(simulation.qpos, after)
        gap_rate = simulation.qvel - after_rate
        for j in range(1, s):
            place = simulation.tangent.moved(places[:, j], -j / s * gap)
            places[:, j] = self.coupling.closed(place)
            rates[:, j] -= j / s * gap_rate
        new = ReferenceTable(
            p * self.control_dt,
            table.stride,
            places.reshape(p * s, -1),
            rates.reshape(p * s, -1),
            forces.reshape(p * s, -1),
        )
        if simulation.fault.any():
            return new, np.inf
        return new, self._energy(qpos, gap, gap_rate)

    def _energy(self, qpos: Floats, gap: Floats, rate: Floats) -> float:
        """Mean kinetic energy of gaps, with `FREQUENCY` as that of a spring, [J]."""
        model, total = self.character.model, 0.0
        data = mujoco.MjData(model)
        for k in range(len(qpos)):
            data.qpos[:] = qpos[k]
            mujoco.mj_forward(model, data)
            matrix = mass_matrix(model, data)
            for part in (rate[k], FREQUENCY * gap[k]):
                total += 0.5 * float(part @ matrix @ part)
        return total / len(qpos)

    def _from_goal(self) -> Floats:
        """Deviation (P, 2 n) of `table` from the reference at the control steps."""
        qpos, qvel, _ = self.table.at(self.times)
        goal, rate, _ = self.goal.at(self.times)
        apart = self.simulation.tangent.difference(qpos, goal)
        both = [apart[:, self.free], (qvel - rate)[:, self.free]]
        return np.concatenate(both, axis=1)

    def _solved(self, steps: LinearSteps) -> tuple[Floats, Floats]:
        """The change of the states (P, 2 n) and offsets (P, U) that close the gaps.

        Of all that do, the one with the least cost of offsets and of the distance from the
        reference: a periodic linear-quadratic problem with an affine term.
        """
        a, b, d = steps.a, steps.b, steps.defect
        count, size, inputs = b.shape
        q, r = np.diag(self.weight), EFFORT * np.eye(inputs)
        away = self._from_goal()
        gains, lead = np.zeros((count, inputs, size)), np.zeros((count, inputs))
        ahead, slope = q.copy(), np.zeros(size)
        for _ in range(max(6, RICCATI_STEPS // count)):
            for k in range(count - 1, -1, -1):
                right = b[k].T @ ahead
                pushed = ahead @ d[k] + slope
                goals = np.c_[right @ a[k], b[k].T @ pushed]
                both = np.linalg.solve(r + right @ b[k], goals)
                gains[k], lead[k] = both[:, :-1], both[:, -1]
                closed = a[k] - b[k] @ gains[k]
                slope = q @ away[k] + closed.T @ pushed
                ahead = q + a[k].T @ ahead @ closed
                ahead = 0.5 * (ahead + ahead.T)
        whole, push = np.eye(size), np.zeros(size)
        for k in range(count):
            closed = a[k] - b[k] @ gains[k]
            whole = closed @ whole
            push = closed @ push + d[k] - b[k] @ lead[k]
        change, offsets = np.zeros((count, size)), np.zeros((count, inputs))
        now = np.linalg.solve(np.eye(size) - whole, push)
        for k in range(count):
            change[k] = now
            offsets[k] = -gains[k] @ now - lead[k]
            now = a[k] @ now + b[k] @ offsets[k] + d[k]
        return change, offsets
