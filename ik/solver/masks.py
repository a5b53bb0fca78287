"""Masks: weight of a layer for each bone, 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import IKError
from ambulo.ik.rig import Rig


def whole(rig: Rig) -> Floats:
    """All bones, fully. Shape (J,)."""
    return np.ones(len(rig))


def bones(rig: Rig, weights: Mapping[str, float]) -> Floats:
    """Only the named bones, by weight. Shape (J,)."""
    mask = np.zeros(len(rig))
    for name, weight in weights.items():
        mask[rig.skeleton.index(name)] = weight
    return checked(rig, mask)


def branch(rig: Rig, top: str, ramp: int = 1) -> Floats:
    """`top` and everything below it. Shape (J,).

    Args:
        rig: The rig.
        top: First bone of the branch.
        ramp: Number of bones along which the weight rises to 1: with 2, `top` has 0.5 and its
            children have 1. So a layer does not bend the body at one joint only.
    """
    if ramp < 1:
        raise IKError(f"ramp must be at least 1, got {ramp}")
    first = rig.skeleton.index(top)
    mask = np.zeros(len(rig))
    for joint in range(len(rig)):
        chain = rig.chain(joint)
        if first in chain:
            mask[joint] = min(1.0, (chain.index(first) + 1) / ramp)
    return mask


def checked(rig: Rig, mask: Floats) -> Floats:
    """Return a validated read-only copy of `mask`; `IKError` names the broken rule."""
    result = np.array(mask, dtype=np.float64)
    if result.shape != (len(rig),):
        raise IKError(f"mask: expected shape ({len(rig)},), got {result.shape}")
    if not ((result >= 0.0) & (result <= 1.0)).all():
        raise IKError("mask: weights must be from 0 to 1")
    result.setflags(write=False)
    return result
