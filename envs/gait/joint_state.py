"""What the joints of bodies could do if their gait parameters were others.

The joint state of Park et al. 2022, by which cascaded policies tell bodies apart: half of
the least and of the largest torque of each joint axis, and its passive torque, [N m].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.envs.gait.batch import GaitBatch
from ambulo.envs.gait.body import strength
from ambulo.envs.gait.group import GaitGroup

Floats = NDArray[np.float64]


def joint_states(batch: GaitBatch, values: Floats) -> Floats:
    """Joint states (N, 3 na) of all players now with parameters `values` (N, P)."""
    out, at = [], 0
    for group in batch.groups:
        rows = values[at : at + group.num_players]
        at += group.num_players
        out.append(np.stack([_motors(group, row) for row in rows]))
    return np.concatenate(out)


def _motors(group: GaitGroup, values: Floats) -> Floats:
    """The joint state of a body with motors, which have no passive torque. (3 na,)."""
    limits = group.simulation.model.actuator_forcerange
    factor = strength(group.space, values) / strength(group.space, group.values)
    low, high = 0.5 * factor * limits.T
    return np.concatenate([low, high, np.zeros(len(limits))])
