"""Hill muscles as in MuJoCo: gain, passive force, and their torque.

A muscle pulls with F = F0 (FL(L) FV(V) a + FP(L)) on a rigid tendon, with the fibre length
L in units of the optimal length (MuJoCo documentation, "Muscle actuators", after Zajac
1989). At a given state its torque is affine in the activations:

    torque = active @ activation + passive

`active` (JtA) is moment arm times gain, `passive` (Jtp) moment arm times passive force, on the
independent coordinates (`coupling`) without the free joint, on which muscles do not act.
Activation dynamics is in `activation`.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import MuscleError
from ambulo.muscle.coupling import JointCoupling, joint_coupling
from ambulo.muscle.dynamics import Transmission, make_current, transmission_of_data

_MINVAL = 1e-15
"""MuJoCo's `mjMINVAL`: the smallest divisor."""


@dataclass(frozen=True)
class MuscleTable:
    """Constants of m muscles, each (m,)."""

    actuator: Ints
    """Index of its actuator in the model."""
    names: tuple[str, ...]
    """Names of the actuators."""
    peak_force: Floats
    """F0, [N]."""
    optimal_length: Floats
    """Fibre length of the largest force, [m]."""
    tendon_length: Floats
    """Slack length of the tendon, [m]."""
    shortest: Floats
    """Fibre length below which it cannot pull, lmin, in optimal lengths."""
    longest: Floats
    """Fibre length above which it cannot pull actively, lmax."""
    fastest: Floats
    """Largest shortening speed, vmax, in optimal lengths per second."""
    lengthening_peak: Floats
    """Active force at fast lengthening, fvmax, in F0."""
    passive: Floats
    """Constants of the passive force, which a model may set separately, (5, m): F0 [N], optimal
    length [m], tendon length [m], lmax, and fpmax in F0: twice the force half-way to lmax."""

    @property
    def size(self) -> int:
        """Number of muscles, m."""
        return len(self.actuator)

    def packed(self) -> Floats:
        """The constants in the layout of the kernels, (12, m)."""
        active = [
            self.peak_force, self.optimal_length, self.tendon_length, self.shortest,
            self.longest, self.fastest, self.lengthening_peak,
        ]  # fmt: skip
        return np.concatenate([active, self.passive])


@dataclass(frozen=True)
class MuscleTorque:
    """Torques of the muscles of B simulations in their present states."""

    active: Floats
    """JtA: torque of a full activation, (B, na, m), [N m]."""
    passive: Floats
    """Jtp: torque of the passive forces, (B, na), [N m]."""
    gain: Floats
    """Force of a full activation, (B, m), [N]; negative pulls."""
    bias: Floats
    """Passive force, (B, m), [N]; negative pulls."""

    def torque(self, activation: Floats) -> Floats:
        """The torque of `activation` (B, m), (B, na), [N m]."""
        return np.einsum("bim,bm->bi", self.active, activation) + self.passive

    def capacity(self) -> tuple[Floats, Floats]:
        """Smallest and largest torque of each coordinate taken alone, (B, na) each, [N m]."""
        low = np.minimum(self.active, 0.0).sum(axis=2) + self.passive
        high = np.maximum(self.active, 0.0).sum(axis=2) + self.passive
        return low, high


class MuscleLayer:
    """The muscles of one model, for any number of simulations."""

    coupling: JointCoupling
    """Independent coordinates; torques are on `coupling.actuated` of them."""
    table: MuscleTable
    """Constants of the muscles."""

    def __init__(
        self, model: mujoco.MjModel, coupling: JointCoupling | None = None
    ) -> None:
        """Find the muscles of `model`.

        Raises:
            MuscleError: The model has no muscle, or one of an unknown kind.
        """
        self.model = model
        self.coupling = coupling or joint_coupling(model)
        self.table = muscle_table(model)
        self._numbers = self.table.packed()[None]
        slot = np.full(self.coupling.size, -1, dtype=np.int64)
        slot[self.coupling.actuated] = np.arange(len(self.coupling.actuated))
        column = self.coupling.column
        self._row = np.where(column >= 0, slot[column], -1)

    @property
    def dofs(self) -> Ints:
        """Degree of freedom of each row of a torque, (na,)."""
        return self.coupling.independent[self.coupling.actuated]

    def at(self, data: mujoco.MjData) -> MuscleTorque:
        """One simulation as a batch of one; after `mj_step1` or `mj_forward`."""
        make_current(self.model, data)
        return self.evaluate(transmission_of_data(data), data.qpos[None])

    def evaluate(
        self, transmission: Transmission, qpos: Floats, numbers: Floats | None = None
    ) -> MuscleTorque:
        """Torques of the muscles in B simulations.

        Args:
            transmission: Transmission of the simulations.
            qpos: Their positions, (B, nq).
            numbers: Constants of each simulation's muscles, `MuscleTable.packed` stacked to (B,
                12, m); default: those of the model.
        """
        if numbers is None:
            numbers = self._numbers
        batch, rows = len(qpos), len(self.coupling.actuated)
        gain, bias = np.empty((2, batch, self.table.size))
        by_muscle = np.zeros((batch, self.table.size, rows))
        passive = np.zeros((batch, rows))
        _torques(
            transmission.length, transmission.velocity, transmission.moment,
            transmission.count, transmission.start, transmission.dof,
            self.coupling.factors(np.ascontiguousarray(qpos)), self._row,
            self.table.actuator, numbers, gain, bias, by_muscle, passive,
        )  # fmt: skip
        return MuscleTorque(by_muscle.swapaxes(1, 2), passive, gain, bias)


def muscle_table(model: mujoco.MjModel) -> MuscleTable:
    """Constants of the muscle actuators of `model`; `MuscleError` without any."""
    muscle = int(mujoco.mjtGain.mjGAIN_MUSCLE)
    which = np.flatnonzero(model.actuator_gaintype == muscle)
    if not len(which):
        raise MuscleError("the model has no muscle actuators")
    gain, bias = model.actuator_gainprm[which, :9], model.actuator_biasprm[which, :9]
    names = tuple(model.actuator(int(i)).name for i in which)
    kinds = model.actuator_biastype[which] == int(mujoco.mjtBias.mjBIAS_MUSCLE)
    if not kinds.all():
        raise MuscleError(
            f"muscle {names[int(np.argmin(kinds))]!r}: its bias must be of kind muscle too,"
            " as the <muscle> element makes it"
        )
    reach, ease = model.actuator_lengthrange[which], model.actuator_acc0[which]
    active, passive = _lengths(gain, reach, ease), _lengths(bias, reach, ease)
    return MuscleTable(
        actuator=which.astype(np.int64),
        names=names,
        peak_force=active[0],
        optimal_length=active[1],
        tendon_length=active[2],
        shortest=gain[:, 4].copy(),
        longest=gain[:, 5].copy(),
        fastest=gain[:, 6].copy(),
        lengthening_peak=gain[:, 8].copy(),
        passive=np.vstack([passive, bias[:, 5], bias[:, 7]]),
    )


def _lengths(numbers: Floats, reach: Floats, ease: Floats) -> Floats:
    """F0, optimal length and tendon length of actuator parameters (m, 9), (3, m).

    Args:
        numbers: Range (2), force, scale, lmin, lmax, vmax, fpmax, fvmax of each.
        reach: Shortest and longest actuator length, (m, 2), [m].
        ease: Acceleration by a unit force in the rest pose, (m,).
    """
    scaled = numbers[:, 3] / np.maximum(ease, _MINVAL)
    span = np.maximum(numbers[:, 1] - numbers[:, 0], _MINVAL)
    optimal = (reach[:, 1] - reach[:, 0]) / span
    peak = np.where(numbers[:, 2] < 0.0, scaled, numbers[:, 2])
    return np.stack([peak, optimal, reach[:, 0] - numbers[:, 0] * optimal])


def fibre_state(
    table: MuscleTable, length: Floats, velocity: Floats
) -> tuple[Floats, Floats]:
    """Fibre lengths [optimal lengths] and velocities [optimal lengths / s], (..., m).

    Args:
        table: the muscles.
        length: actuator lengths, (..., m), [m].
        velocity: actuator velocities, (..., m), [m/s].
    """
    optimal = np.maximum(table.optimal_length, _MINVAL)
    return (length - table.tendon_length) / optimal, velocity / optimal


def gain_and_bias(
    table: MuscleTable, length: Floats, velocity: Floats
) -> tuple[Floats, Floats]:
    """Active force at full activation and passive force, (B, m) each, [N], negative.

    Args:
        table: the muscles.
        length: actuator lengths, (B, m), [m].
        velocity: actuator velocities, (B, m), [m/s].
    """
    gain, bias = np.empty_like(length), np.empty_like(length)
    _forces(length, velocity, table.packed(), gain, bias)
    return gain, bias


@njit(cache=True)
def _forces(
    length: Floats, velocity: Floats, numbers: Floats, gain: Floats, bias: Floats
) -> None:
    for b in range(length.shape[0]):
        for i in range(length.shape[1]):
            gain[b, i], bias[b, i] = _force(length[b, i], velocity[b, i], numbers[:, i])


@njit(cache=True)
def _force(length: float, velocity: float, numbers: Floats) -> tuple[float, float]:
    """Gain and bias of one muscle; `numbers` is a column of `MuscleTable.packed`."""
    optimal = max(_MINVAL, numbers[1])
    x = (length - numbers[2]) / optimal
    v = velocity / max(_MINVAL, optimal * numbers[5])
    pull = _length_curve(x, numbers[3], numbers[4]) * _velocity_curve(v, numbers[6])
    gain = -numbers[0] * pull
    # Passive: half a parabola up to the middle of [1, lmax], then a straight line.
    peak, fpmax = numbers[7], numbers[11]
    x = (length - numbers[9]) / max(_MINVAL, numbers[8])
    stretch = (x - 1.0) / max(_MINVAL, 0.5 * (numbers[10] - 1.0))
    bias = 0.0
    if 0.0 < stretch <= 1.0:
        bias = -0.5 * peak * fpmax * stretch * stretch
    elif stretch > 1.0:
        bias = -peak * fpmax * (stretch - 0.5)
    return gain, bias


@njit(cache=True)
def _length_curve(x: float, lmin: float, lmax: float) -> float:
    """Active force over fibre length: four parabolas, 1 at x = 1, 0 outside its range."""
    if x < lmin or x > lmax:
        return 0.0
    low, high = 0.5 * (lmin + 1.0), 0.5 * (1.0 + lmax)
    # lmin = 1 leaves no ascending side; the divisors avoid 0 / 0.
    if x <= low:
        side = (x - lmin) / max(_MINVAL, low - lmin)
        return 0.5 * side * side
    if x <= 1.0:
        side = (1.0 - x) / max(_MINVAL, 1.0 - low)
        return 1.0 - 0.5 * side * side
    if x <= high:
        side = (x - 1.0) / max(_MINVAL, high - 1.0)
        return 1.0 - 0.5 * side * side
    side = (lmax - x) / max(_MINVAL, lmax - high)
    return 0.5 * side * side


@njit(cache=True)
def _velocity_curve(v: float, fvmax: float) -> float:
    """Active force over fibre velocity, in largest shortening speeds."""
    rise = fvmax - 1.0
    if v <= -1.0:
        return 0.0
    if v <= 0.0:
        return (v + 1.0) * (v + 1.0)
    if v <= rise:
        return fvmax - (rise - v) * (rise - v) / max(_MINVAL, rise)
    return fvmax


@njit(cache=True)
def _torques(
    length: Floats,
    velocity: Floats,
    moment: Floats,
    count: Ints,
    start: Ints,
    dof: Ints,
    factor: Floats,
    row: Ints,
    actuator: Ints,
    numbers: Floats,
    gain: Floats,
    bias: Floats,
    by_muscle: Floats,
    passive: Floats,
) -> None:
    """Fill gain, bias (B, m), by_muscle (B, m, na) and passive (B, na)."""
    for b in range(length.shape[0]):
        mine = numbers[b % numbers.shape[0]]
        for i in range(actuator.shape[0]):
            a = actuator[i]
            strength, rest = _force(length[b, a], velocity[b, a], mine[:, i])
            gain[b, i], bias[b, i] = strength, rest
            for k in range(start[b, a], start[b, a] + count[b, a]):
                here = dof[b, k]
                if row[here] >= 0:
                    arm = moment[b, k] * factor[b, here]
                    by_muscle[b, i, row[here]] += arm * strength
                    passive[b, row[here]] += arm * rest
