"""What the layers did in a tick: the answer to "why does the character not move?"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.ik.pose import Pose
from ambulo.motion.rotations import quat_angle

Floats = NDArray[np.float64]

CHANGED = 1e-9
"""A bone that turned by less than this was not changed, [rad]."""


@dataclass(frozen=True)
class LayerTrace:
    """What one layer did."""

    layer: str
    """Its name."""
    kind: str
    """base, transition, additive, override, ik or limits."""
    weight: float
    """As it was applied, fades included; 0 if it was not."""
    bones_changed: int
    """Bones that turned, of any character."""
    max_delta_deg: float
    """The largest turn of a bone, [deg]."""
    root_moved: float
    """How far the root was moved at most, [m]."""
    reason: str = ""
    """Why it was left out, else empty."""


@dataclass(frozen=True)
class TickTrace:
    """What all layers did in one tick, in the order in which they were applied."""

    number: int
    """Of the tick, from 1."""
    time: float
    """Of the tick, [s]."""
    layers: tuple[LayerTrace, ...]
    """One entry a layer, also for those left out."""

    def of(self, layer: str) -> LayerTrace:
        """The entry of a layer; KeyError without one."""
        for entry in self.layers:
            if entry.layer == layer:
                return entry
        raise KeyError(layer)

    def lines(self) -> list[str]:
        """A line a layer, for a log."""
        return [
            f"{entry.kind:10} {entry.layer:20} weight {entry.weight:.2f}  "
            f"bones {entry.bones_changed:3d}  max {entry.max_delta_deg:7.2f} deg  "
            f"root {entry.root_moved:.3f} m  {entry.reason}".rstrip()
            for entry in self.layers
        ]


def change(
    layer: str, kind: str, weight: float, before: Pose, after: Pose
) -> LayerTrace:
    """The trace of a layer that made `after` of `before`."""
    if before is after:
        return LayerTrace(layer, kind, weight, 0, 0.0, 0.0)
    angles = quat_angle(before.rotations, after.rotations)
    return LayerTrace(
        layer,
        kind,
        weight,
        int((angles > CHANGED).any(axis=0).sum()),
        float(np.rad2deg(angles.max(initial=0.0))),
        float(np.linalg.norm(after.root - before.root, axis=-1).max(initial=0.0)),
    )


def left_out(layer: str, kind: str, reason: str) -> LayerTrace:
    """The trace of a layer that could not be applied."""
    return LayerTrace(layer, kind, 0.0, 0, 0.0, 0.0, reason)
