"""Weak, short and stretched muscles as numbers: the model is changed, not the controller.

A condition has two factors per muscle. `force` scales its peak force (weakness, paralysis).
`length` scales the optimal length of fibre and tendon slack length together, so 0.9 is a
contracture: in the same pose the fibre is longer, and its passive force begins earlier.
Moment arms times gains (JtA) and passive torques include both, so a solver needs no other
change.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MuscleError, nearest
from ambulo.muscle.muscles import MuscleTable, muscle_table


@dataclass(frozen=True)
class Condition:
    """Factors of m muscles; 1 is healthy."""

    force: Floats
    """Factor on the peak force, (m,), >= 0."""
    length: Floats
    """Factor on the optimal length and the tendon, (m,), > 0."""


def condition(
    names: tuple[str, ...],
    force: Mapping[str, float] | None = None,
    length: Mapping[str, float] | None = None,
) -> Condition:
    """Factors by shell patterns of muscle names, as {"soleus_*": 0.3}; later ones win.

    Raises:
        MuscleError: A pattern matches no muscle, or a factor is out of range.
    """
    return Condition(
        _factors(names, force or {}, 0.0), _factors(names, length or {}, 0.1)
    )


def model_with(model: mujoco.MjModel, state: Condition) -> mujoco.MjModel:
    """A copy of `model` whose muscles are in `state`."""
    actuator = muscle_table(model).actuator
    changed = copy.copy(model)
    for numbers in (changed.actuator_gainprm, changed.actuator_biasprm):
        for column in (2, 3):  # the force, and the scale of an automatic force
            was = numbers[actuator, column]
            # A negative force means that the scale applies.
            numbers[actuator, column] = np.where(was < 0.0, was, was * state.force)
    changed.actuator_lengthrange[actuator] *= state.length[:, None]
    return changed


def table_with(table: MuscleTable, state: Condition) -> MuscleTable:
    """The muscles of `table` in `state`."""
    one = np.ones_like(state.force)
    return dataclasses.replace(
        table,
        peak_force=table.peak_force * state.force,
        optimal_length=table.optimal_length * state.length,
        tendon_length=table.tendon_length * state.length,
        passive=table.passive * [state.force, state.length, state.length, one, one],
    )


def _factors(
    names: tuple[str, ...], rules: Mapping[str, float], least: float
) -> Floats:
    """One factor per muscle, (m,)."""
    factors = np.ones(len(names))
    for pattern, factor in rules.items():
        hits = np.array([fnmatchcase(name, pattern) for name in names], dtype=bool)
        if not hits.any():
            raise MuscleError(
                f"no muscle matches {pattern!r}" + nearest(pattern, names)
            )
        if not least <= factor <= 2.0:
            raise MuscleError(
                f"factor of {pattern!r}: expected {least:g} to 2, got {factor:g}"
            )
        factors[hits] = factor
    return factors
