"""Joint torque ranges that bodies would have with other gait parameters.

The joint state of Park et al. 2022, by which cascaded policies distinguish bodies: half of the
smallest and of the largest torque of each joint axis, and its passive torque, [N m].
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.gait import GaitSpace
from ambulo.envs.characters.gait_body import strength
from ambulo.envs.reference.gait_legs import muscles_of
from ambulo.envs.tasks.gait.batch import GaitBatch
from ambulo.envs.tasks.gait.group import GaitGroup
from ambulo.muscle.actuation import MuscleActuation


def joint_states(batch: GaitBatch, values: Floats) -> Floats:
    """Joint states (N, 3 na) of all envs now with parameters `values` (N, P)."""
    out, at = [], 0
    for group in batch.groups:
        rows = values[at : at + group.num_envs]
        at += group.num_envs
        muscles = group.simulation.actuation
        if isinstance(muscles, MuscleActuation):
            out.append(_muscles(group, muscles, rows))
        else:
            out.append(np.stack([_motors(group, row) for row in rows]))
    return np.concatenate(out)


@lru_cache(maxsize=4096)
def _strength(space: GaitSpace, values: bytes) -> float:
    return strength(space, np.frombuffer(values))


def _motors(group: GaitGroup, values: Floats) -> Floats:
    """The joint state of a body with motors, which have no passive torque. (3 na,)."""
    limits = group.simulation.model.actuator_forcerange
    own, wanted = group.values.tobytes(), values.tobytes()
    factor = _strength(group.space, wanted) / _strength(group.space, own)
    low, high = 0.5 * factor * limits.T
    return np.concatenate([low, high, np.zeros(len(limits))])


def _muscles(group: GaitGroup, muscles: MuscleActuation, values: Floats) -> Floats:
    """Joint states of bodies with muscles at their present posture. (N, 3 na)."""
    # Envs of a group mostly share their parameters.
    kinds = {row.tobytes(): row for row in values}
    packed = {key: muscles_of(group.space, row).packed() for key, row in kinds.items()}
    made = muscles.torques_with(np.stack([packed[row.tobytes()] for row in values]))
    low = np.minimum(made.active, 0.0).sum(axis=2)
    high = np.maximum(made.active, 0.0).sum(axis=2)
    return np.concatenate([0.5 * low, 0.5 * high, made.passive], axis=1)
