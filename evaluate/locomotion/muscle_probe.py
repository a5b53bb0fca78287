"""What the muscles of walking bodies spend."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.muscle.actuation import MuscleActuation
from ambulo.muscle.report import muscle_report


class MetabolicProbe:
    """Metabolic power of all muscles (Bhargava et al. 2004, see `muscle.report`)."""

    def __init__(self, batch: LocomotionBatch) -> None:
        """Look the muscles up, if there are any."""
        simulation = batch.simulation
        self._count = simulation.count
        actuation = simulation.actuation
        self._table = None
        if isinstance(actuation, MuscleActuation):
            self._table = actuation.layer.table
            self._dt = simulation.dt
            names = ("act", "actuator_length", "actuator_velocity")
            self._state = [simulation.bind(name) for name in names]

    def now(self) -> Floats:
        """Power of each body, resting metabolism left out, [W]; NaN without muscles. (N,)."""
        if self._table is None:
            return np.full(self._count, np.nan)
        which = self._table.actuator
        activation = self._state[0]
        length, velocity = (values[:, which] for values in self._state[1:])
        # The report is of series; bodies stand for samples here.
        report = muscle_report(self._table, activation, length, velocity, self._dt)
        return np.asarray(report.metabolic_rate.sum(axis=1))
