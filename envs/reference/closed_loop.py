"""The periodic motion that a body under its balance controller really has, as a reference.

A reference made by inverse dynamics knows contacts as ideal; the simulated body walks
beside it, and spends torque on the difference. What it settles to is periodic too. With its
mean state and torque as the new reference, the difference is gone after two or three rounds
(a fixed-point iteration).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import MotionError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.balance import BalanceController
from ambulo.envs.reference.linearization import deviations, follow
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.muscle.actuation import MuscleActuation
from ambulo.muscle.coupling import joint_coupling

STATE_HARMONICS = 10
"""Harmonics of the cycle that are kept of positions and velocities."""
TORQUE_HARMONICS = 14
"""The same of the torque."""
SETTLING = 1.5
"""Beginning of a roll-out that is not used, [s]."""
BEFORE_FALL = 1.0
"""Time before a fall that is not used, [s]."""
PUSH_TIME = 0.2
"""How long a push lasts, [s]."""
LARGEST_OFFSET = 0.6
"""Largest offset of a joint target that the controller may ask for, [rad]."""
FALLEN_HEIGHT, FALLEN_ANGLE = 0.25, 0.8
"""Deviation of the root's height, [m], and orientation, [rad], that counts as a fall."""


@dataclass
class RollOut:
    """Motion of N bodies under a controller; T control steps, n independent coordinates."""

    dt: float
    """Duration of a control step, [s]."""
    survived: Floats
    """How long each stood, [s]. Shape (N,)."""
    speed: float = 0.0
    """Mean forward speed of those that stand at the end, [m/s]."""
    joint_error: float = float("nan")
    """Mean deviation of joint angles from the reference, [rad]."""
    activation: float = 0.0
    """Mean activation of the muscles; 0 without."""
    effort: float = 0.0
    """Mean squared activation."""
    torque_residual: float = 0.0
    """Root mean square of the torque that muscles could not give, [N m]."""
    torque_size: float = 0.0
    """Root mean square of the wanted torque, [N m]."""
    phase: list[Floats] = field(default_factory=list)
    """Place in the cycle after each step. T times (N,)."""
    deviation: list[Floats] = field(default_factory=list)
    """Positions and velocities minus the reference. T times (N, 2n)."""
    torque: list[Floats] = field(default_factory=list)
    """Wanted torque in the last substep. T times (N, n - 6)."""
    standing: list[Bools] = field(default_factory=list)
    """Bodies that have not fallen yet. T times (N,)."""

    def share(self, seconds: float) -> float:
        """The share of bodies that stood for at least `seconds`."""
        return float(np.mean(self.survived >= seconds - 1e-9))


def roll_out(
    character: Character,
    reference: ReferenceTable,
    controller: BalanceController | None,
    count: int,
    seconds: float,
    *,
    control_dt: float,
    seed: int = 0,
    push: float = 0.0,
) -> RollOut:
    """Let `count` bodies walk from random phases.

    Args:
        character: The body.
        reference: What they follow.
        controller: Their balance; None: feed-forward alone.
        count: N.
        seconds: How long.
        control_dt: Duration of a control step, [s].
        seed: Of phases and pushes.
        push: Impulse on the root's body within 0.2 s between 1 s and 2.1 s, in a random
            horizontal direction, [N s].
    """
    rng = np.random.default_rng(seed)
    substeps = round(control_dt / character.model.opt.timestep)
    simulation = CharacterSimulation(character, count, substeps=substeps, threads=0)
    start = rng.uniform(0.0, reference.period, count)
    angle, when = rng.uniform(0.0, 2.0 * np.pi, count), rng.uniform(1.0, 2.1, count)
    force = push / PUSH_TIME * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    qpos, qvel, _ = reference.at(start)
    simulation.reset(np.arange(count), start, qpos, qvel)
    out = RollOut(simulation.dt, np.full(count, np.inf))
    first, last = simulation.qpos[:, 0].copy(), simulation.qpos[:, 0].copy()
    body = int(character.model.jnt_bodyid[0])
    sums: list[Floats] = []
    for k in range(round(seconds / simulation.dt)):
        now = simulation.time - start
        on = (now >= when) & (now < when + PUSH_TIME)
        simulation.push[:, body, :2] = on[:, None] * force
        follow(simulation, reference, _offsets(simulation, reference, controller))
        standing, fallen = _note(simulation, reference, out, k)
        if not standing.any():
            break
        last[standing] = simulation.qpos[standing, 0]
        sums.append(_sums(simulation, out, standing))
        ids = np.flatnonzero(fallen)
        if len(ids):  # go on from the reference, no longer counted
            qpos, qvel, _ = reference.at(simulation.time[ids])
            simulation.reset(ids, simulation.time[ids], qpos, qvel)
    standing = np.isinf(out.survived)
    out.survived[standing] = seconds
    if standing.any():
        out.speed = float((last - first)[standing].mean() / seconds)
    if sums:
        mean = np.mean(sums, axis=0)
        out.joint_error, out.activation, out.effort = (float(v) for v in mean[:3])
        out.torque_residual, out.torque_size = (float(v) for v in np.sqrt(mean[3:]))
    return out


def closed_loop_cycle(
    character: Character, reference: ReferenceTable, rolled: RollOut
) -> ReferenceTable:
    """The mean cycle of a roll-out along `reference`, with its torque and its speed.

    Raises:
        MotionError: The bodies fall before they complete a cycle.
    """
    coupling = joint_coupling(character.model)
    free = coupling.independent
    n, nv = len(free), int(character.model.nv)
    used = _used(rolled)
    gone = np.array(rolled.deviation)
    drift = _without_drift(gone, used, rolled.dt)
    phase = np.array(rolled.phase)[used]
    count = len(reference.qpos)
    grid = np.arange(count) / count
    mean = _fitted(phase, gone[used], STATE_HARMONICS, grid)
    # The torque is that of the substep before the state; half of it on average.
    earlier = 0.5 * character.model.opt.timestep / reference.period
    torque = _fitted(
        phase - earlier, np.array(rolled.torque)[used], TORQUE_HARMONICS, grid
    )
    step = np.zeros((count, nv))
    step[:, free] = mean[:, :n]
    step[:, 0] += drift * grid * reference.period
    rate = np.zeros((count, nv))
    rate[:, free] = mean[:, n:]
    mover = CharacterSimulation(character, 1).tangent
    qpos = coupling.closed(mover.moved(reference.qpos, step))
    qvel = coupling.closed_velocity(qpos, reference.qvel + rate)
    forces = np.zeros((count, nv))
    forces[:, free[6:]] = torque
    stride = reference.stride + np.array([drift * reference.period, 0.0, 0.0])
    return ReferenceTable(reference.period, stride, qpos, qvel, forces)


def _offsets(
    simulation: CharacterSimulation,
    reference: ReferenceTable,
    controller: BalanceController | None,
) -> Floats:
    """What the controller adds to the joint targets, (N, nv), [rad]."""
    if controller is None:
        return np.zeros((simulation.count, simulation.model.nv))
    apart, rate = deviations(simulation, reference)
    phase = reference.phase(simulation.time)
    offsets = controller.offsets(phase, np.clip(apart, -1.0, 1.0), rate)
    return np.clip(offsets, -LARGEST_OFFSET, LARGEST_OFFSET)


def _note(
    simulation: CharacterSimulation, reference: ReferenceTable, out: RollOut, step: int
) -> tuple[Bools, Bools]:
    """Add control step `step` to `out`; who stands still, and who falls now, (N,) each."""
    free = joint_coupling(simulation.model).independent
    apart, rate = deviations(simulation, reference)
    tilt = np.linalg.norm(apart[:, 3:6], axis=1)
    fallen = (np.abs(apart[:, 2]) > FALLEN_HEIGHT) | (tilt > FALLEN_ANGLE)
    fallen |= simulation.fault != 0
    out.survived[fallen & np.isinf(out.survived)] = (step + 1) * simulation.dt
    standing = np.isinf(out.survived)
    out.phase.append(reference.phase(simulation.time))
    out.deviation.append(np.concatenate([apart[:, free], rate[:, free]], axis=1))
    out.torque.append(simulation.torque.copy())
    out.standing.append(standing)
    return standing, fallen


def _sums(simulation: CharacterSimulation, out: RollOut, standing: Bools) -> Floats:
    """Mean joint error, activation, its square, and squares of residual and torque. (5,)."""
    free = simulation.torque.shape[1]
    error = np.abs(out.deviation[-1][standing, 6 : 6 + free]).mean()
    wanted = np.square(simulation.torque[standing]).sum(axis=1).mean()
    muscles = simulation.actuation
    if not isinstance(muscles, MuscleActuation):
        return np.array([error, 0.0, 0.0, 0.0, wanted])
    residual = np.square(muscles.residual[standing]).sum(axis=1).mean()
    a = muscles.activation[standing]
    return np.array([error, a.mean(), np.square(a).mean(), residual, wanted])


def _used(rolled: RollOut) -> Bools:
    """The samples (T, N) well after the start and well before a fall."""
    standing = np.array(rolled.standing)
    ahead = round(BEFORE_FALL / rolled.dt)
    used = np.zeros_like(standing)
    used[:-ahead] = standing[ahead:]
    used[-ahead:] = standing[-1]
    used[: round(SETTLING / rolled.dt)] = False
    used[:, used.sum(axis=0) < 10] = False
    if used.sum() < 4 * (2 * TORQUE_HARMONICS + 1):
        raise MotionError(
            "the bodies fall before their own cycle shows; start from a reference that "
            "the balance controller holds for longer"
        )
    return used


def _without_drift(gone: Floats, used: Bools, dt: float) -> float:
    """Take each body's own drift out of `gone` (T, N, 2n); the mean speed of it, [m/s]."""
    time = np.arange(len(gone)) * dt
    slopes, weights = [], []
    for body in np.flatnonzero(used.any(axis=0)):
        on = used[:, body]
        line = np.polyfit(time[on], gone[on, body, 0], 1)
        gone[:, body, 0] -= np.polyval(line, time)
        gone[:, body, 1] -= gone[on, body, 1].mean()
        slopes.append(line[0])
        weights.append(on.sum())
    return float(np.average(slopes, weights=weights))


def _fitted(phase: Floats, values: Floats, harmonics: int, grid: Floats) -> Floats:
    """Least-squares Fourier series of `values` (S, k) over `phase` (S,), at `grid`."""

    def waves(at: Floats) -> Floats:
        turns = 2.0 * np.pi * np.outer(at, np.arange(1, harmonics + 1))
        return np.concatenate(
            [np.ones((len(at), 1)), np.cos(turns), np.sin(turns)], axis=1
        )

    return np.asarray(
        waves(grid) @ np.linalg.lstsq(waves(phase), values, rcond=None)[0]
    )
