"""Repairs by readers of motion files, and the notes on them."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.motion import Motion
from ambulo.motion.operations import sample

MOST_OFF = 0.4
"""Largest deviation of a quaternion's length from 1 that is normalised, and of a time step from
the usual, as a fraction, that is accepted."""
LONGEST_STEP = 10.0
"""Longest time step between frames, over the usual one, that is interpolated."""


def unit_quats(quats: Floats, name: str, tolerance: float) -> tuple[Floats, str]:
    """Normalised quaternions (..., 4) and a note; unchanged if they cannot be repaired.

    Args:
        quats: The quaternions.
        name: Name of the rotated joints, for the note.
        tolerance: Deviation of the length from 1 that needs no repair.
    """
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(quats, axis=-1, keepdims=True)
    off = float(np.abs(lengths - 1.0).max(initial=0.0))
    if not tolerance < off <= MOST_OFF:
        return quats, ""
    low, high = lengths.min(), lengths.max()
    note = f"quaternions of {name} have lengths of {low:.3g} to {high:.3g}; normalised"
    return quats / lengths, note


def can_be_evened(steps: Floats) -> bool:
    """Whether frames with these `steps` of time (T - 1,) can be interpolated to one rate."""
    usual = float(np.median(steps))
    near = np.abs(steps - usual) <= MOST_OFF * usual
    within = steps.min() > 0.0 and steps.max() <= LONGEST_STEP * usual
    return bool(within and near.mean() > 0.5)


def evened(motion: Motion, steps: Floats) -> Motion:
    """A motion whose frames are `steps` (T - 1,), [s], apart, at its even rate, with a note."""
    times = np.concatenate([[0.0], np.cumsum(steps)])
    even = np.arange(int(times[-1] * motion.fps + 1e-9) + 1) / motion.fps
    frames = np.interp(even, times, np.arange(len(times)))
    note = (
        f"frames are {steps.min():.3g} to {steps.max():.3g} s apart; interpolated to "
        f"{motion.fps:.6g} per second"
    )
    return noted(sample(motion, frames, motion.fps), note)


def noted(motion: Motion, *notes: str) -> Motion:
    """`motion` with the non-empty ones of `notes`."""
    more = tuple(note for note in notes if note)
    return motion.replace(notes=(*motion.notes, *more)) if more else motion
