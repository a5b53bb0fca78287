"""Cylinders and spheres between points: bones of skeletons, muscles, feet."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.rotations import quat_between
from ambulo.viz.viewer.snapshot import Bytes, Instances

_LEAST = 1e-6
_UP = np.array([0.0, 0.0, 1.0])


def links(starts: Floats, ends: Floats, radii: Floats, colours: Bytes) -> Instances:
    """Unit cylinders stretched from `starts` to `ends` (n, 3), [m], of `radii` (n,), [m]."""
    along = ends - starts
    length = np.linalg.norm(along, axis=1)
    scales = np.column_stack([radii, radii, 0.5 * length])
    return Instances(0.5 * (starts + ends), turns_of(along, length), scales, colours)


def balls(places: Floats, radii: Floats, colours: Bytes) -> Instances:
    """Unit spheres of `radii` (n,), [m], at `places` (n, 3), [m]."""
    upright = np.tile([1.0, 0.0, 0.0, 0.0], (len(places), 1))
    return Instances(places, upright, np.tile(radii[:, None], (1, 3)), colours)


def turns_of(along: Floats, length: Floats) -> Floats:
    """The smallest rotations of Z onto directions (n, 3) of `length` (n,); wxyz, (n, 4)."""
    unit = along / np.maximum(length, _LEAST)[:, None]
    unit[length < _LEAST] = _UP
    turns: Floats = np.asarray(quat_between(np.broadcast_to(_UP, unit.shape), unit))
    return turns
