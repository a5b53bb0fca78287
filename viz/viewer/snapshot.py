"""A viewer's scene at one time: positions of instances, lines and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.viz.viewer.meshes import Mesh

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Instances:
    """Instances of one mesh in the world."""

    positions: Floats
    """Positions, [m]. Shape (n, 3)."""
    turns: Floats
    """Unit quaternions wxyz. Shape (n, 4)."""
    scales: Floats
    """Factors along the mesh's own axes. Shape (n, 3)."""
    colours: Bytes
    """Red, green, blue. Shape (n, 3)."""
    steady: bool = False
    """Whether instances stay or jump, without interpolation between snapshots."""

    def moved(self, by: Floats) -> Instances:
        """Return the instances moved by (3,), [m]."""
        return replace(self, positions=self.positions + by)


@dataclass(frozen=True, eq=False)
class Lines:
    """Straight lines in the world; those of zero length are invisible."""

    points: Floats
    """Their ends, [m]. Shape (n, 2, 3)."""
    colours: Bytes
    """Red, green, blue. Shape (n, 3)."""
    steady: bool = False
    """Whether they stay or jump, without interpolation."""

    def moved(self, by: Floats) -> Lines:
        """The same lines, moved by (3,), [m]."""
        return replace(self, points=self.points + by)


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture on an upright board that faces -Y."""

    data: bytes
    """The image file, such as PNG: a minute of pictures is kept."""
    steady: bool = True
    """Pictures are never interpolated."""

    def moved(self, by: Floats) -> Picture:
        """Return the picture itself: the board stays."""
        return self


Part = Instances | Lines | Picture


@dataclass(frozen=True)
class MeshLayer:
    """A mesh with the same number of instances in every snapshot."""

    mesh: Mesh
    opacity: float | None = None
    """Opacity in (0, 1); None: opaque."""
    clickable: bool = False
    """Whether clicks on an instance and drags of it are reported."""
    shadow: bool = True
    """Whether it casts a shadow."""
    drag_key: Literal["shift"] | None = None
    """Key held in a drag; None: no key, and drags that begin here do not rotate the camera."""


@dataclass(frozen=True)
class LineLayer:
    """Lines in every snapshot."""

    width: float = 2.0
    """Width, [px], or [m]."""
    in_world: bool = False
    """Whether the width is in metres of the scene."""


@dataclass(frozen=True)
class PictureLayer:
    """A board that stands on the floor at the origin, with a picture."""

    height: float = 2.0
    """Height of the board, [m]; its width follows from the picture."""


Layer = MeshLayer | LineLayer | PictureLayer


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The scene at one time."""

    time: float
    """Simulated time since the start of the viewer's clock, [s]."""
    centre: Floats
    """Target of the camera, [m]. Shape (3,)."""
    parts: Mapping[str, Part]
    """Parts by the name of their layer."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Numbers for plots, by `plot/series`."""
    cut: bool = False
    """Whether an episode begins here, so that nothing is interpolated from the previous
    snapshot."""


def between(first: Snapshot, second: Snapshot, share: float) -> Snapshot:
    """The scene at a fraction `share` in [0, 1] of the time from the first to the second.

    Positions are interpolated linearly, quaternions by the normalised mean (Shoemake's slerp
    differs by less than a pixel at the turns of one step).
    """
    if second.cut or share >= 1.0:
        return second
    if share <= 0.0:
        return first
    parts = {
        name: _part_between(first.parts[name], part, share)
        if name in first.parts
        else part
        for name, part in second.parts.items()
    }
    time = first.time + share * (second.time - first.time)
    centre = first.centre + share * (second.centre - first.centre)
    return Snapshot(time, centre, parts, second.values)


def _part_between(a: Part, b: Part, share: float) -> Part:
    if a is b or b.steady:
        return b
    if isinstance(a, Lines) and isinstance(b, Lines):
        if a.points.shape != b.points.shape:
            return b
        return Lines(a.points + share * (b.points - a.points), b.colours)
    if isinstance(a, Instances) and isinstance(b, Instances):
        return _instances_between(a, b, share)
    return b


def _instances_between(a: Instances, b: Instances, share: float) -> Instances:
    if a.positions.shape != b.positions.shape:
        return b
    facing = np.sum(a.turns * b.turns, axis=1, keepdims=True)
    nearer = np.where(facing < 0.0, -b.turns, b.turns)
    turns = (1.0 - share) * a.turns + share * nearer
    length = np.linalg.norm(turns, axis=1, keepdims=True)
    same = a.scales is b.scales
    return Instances(
        a.positions + share * (b.positions - a.positions),
        turns / np.maximum(length, 1e-9),
        b.scales if same else a.scales + share * (b.scales - a.scales),
        b.colours,
    )
