"""Actions: their checks, and offsets as actions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ActionError, ConfigError


def checked_actions(actions: NDArray[np.generic], shape: tuple[int, int]) -> Floats:
    """Return actions (N, A) as floats.

    Raises:
        ActionError: They have another shape than `shape`, or are not finite.
    """
    values = np.asarray(actions, dtype=np.float64)
    if values.shape != shape:
        raise ActionError(f"actions: expected shape {shape}, got {values.shape}")
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise ActionError(f"actions of body {bad} are not finite")
    return values


def in_actions(offsets: Floats, dofs: Ints, columns: Ints, size: int) -> Floats:
    """Offsets (N, U) of the degrees of freedom `dofs` as actions that begin with `columns`.

    Shape (N, size).

    Raises:
        ConfigError: There are none, or they move joints that actions do not.
    """
    if not len(dofs) or not np.isin(dofs, columns).all():
        raise ConfigError("no balance controller moves the joints of the actions")
    out = np.zeros((len(offsets), size))
    where = {int(dof): column for column, dof in enumerate(columns)}
    out[:, [where[int(dof)] for dof in dofs]] = offsets
    return out
