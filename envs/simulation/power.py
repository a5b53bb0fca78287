"""Mechanical power of the joints of a simulation."""

from __future__ import annotations

import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.envs.sums import pairwise_sum
from ambulo.muscle.coupling import joint_coupling


class JointPower:
    """Absolute power of all joints of N bodies; coupled joints count as one."""

    def __init__(self, simulation: CharacterSimulation) -> None:
        """Create it for the bodies of `simulation`."""
        self._simulation = simulation
        self._force: Floats = simulation.bind("qfrc_actuator")
        self._coupling = joint_coupling(simulation.model)
        self._untied = np.empty((0, simulation.model.nv))

    def now(self) -> Floats:
        """Power after a physics step, [W]. Shape (N,)."""
        coupling, factors = self._coupling, self._untied
        if len(coupling.dof):  # coupled joints do no work against each other
            factors = coupling.factors(self._simulation.qpos)
        power = np.empty(self._simulation.count)
        _joint_power(
            self._force, np.ascontiguousarray(self._simulation.qvel), factors,
            coupling.column, coupling.independent, power,
        )  # fmt: skip
        return power


@njit(cache=True)
def _joint_power(
    force: Floats,
    qvel: Floats,
    factors: Floats,
    column: Ints,
    independent: Ints,
    out: Floats,
) -> None:
    """Fill `out` (N,); `factors` (N, nv) as of `JointCoupling`, (0, nv) without ties."""
    size = len(independent)
    reduced, power = np.empty(size), np.empty(size - 6)
    for b in range(len(out)):
        reduced[:] = 0.0
        for dof in range(len(column)):
            if column[dof] >= 0:
                factor = factors[b, dof] if len(factors) else 1.0
                reduced[column[dof]] += force[b, dof] * factor
        for i in range(6, size):
            power[i - 6] = abs(reduced[i] * qvel[b, independent[i]])
        out[b] = pairwise_sum(power)
