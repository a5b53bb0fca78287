"""Actions: their checks, the joint targets that they move, offsets as actions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ActionError, ConfigError


def checked_actions(actions: NDArray[np.generic], shape: tuple[int, int]) -> Floats:
    """Return a copy of actions (N, A) as floats within [-1, 1].

    Raises:
        ActionError: They have another shape than `shape`, or are not finite.
    """
    values = np.ascontiguousarray(actions, dtype=np.float64)
    if values.shape != shape:
        raise ActionError(f"actions: expected shape {shape}, got {values.shape}")
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        raise ActionError(f"actions of body {int(np.argmin(finite))} are not finite")
    return np.clip(values, -1.0, 1.0)


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


def target_offsets(
    actions: Floats,
    scale: float,
    dofs: Ints,
    controller_offsets: Floats,
    limit: float,
    controller_dofs: Ints,
    nv: int,
) -> Floats:
    """Return how far all joint targets are moved, [rad], shape (N, nv).

    Args:
        actions: In [-1, 1]; the first move joints. Shape (N, A or more).
        scale: Offset of an action of 1, [rad].
        dofs: Degrees of freedom that actions move. Shape (A,).
        controller_offsets: Of the balance controller, [rad]. Shape (N, U).
        limit: Largest of them, [rad].
        controller_dofs: Their degrees of freedom. Shape (U,); empty where it does not act.
        nv: Degrees of freedom of the body.
    """
    out = np.zeros((len(actions), nv))
    out[:, dofs] = scale * actions[:, : len(dofs)]
    if len(controller_dofs):
        out[:, controller_dofs] += np.clip(controller_offsets, -limit, limit)
    return out


def add_noise(
    offsets: Floats, dofs: Ints, amount: float, rngs: Sequence[np.random.Generator]
) -> None:
    """Add normal noise of this standard deviation, [rad], to `dofs` of `offsets` (N, nv)."""
    if amount > 0.0:
        noise = np.stack([rng.normal(size=len(dofs)) for rng in rngs])
        offsets[:, dofs] += amount * noise
