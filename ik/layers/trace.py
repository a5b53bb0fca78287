"""Trace of the layers in a tick: it answers "why does the character not move?"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.ik.pose import Pose
from ambulo.motion.rotations import quat_angle

CHANGED = 1e-9
"""Smallest rotation of a bone that counts as a change, [rad]."""


@dataclass(frozen=True)
class LayerTrace:
    """Effect of one layer in a tick."""

    layer: str
    """Its name."""
    kind: str
    """base, transition, additive, override, ik or limits."""
    weight: float
    """Applied weight, fades included; 0 if the layer was left out."""
    bones_changed: int
    """Number of bones that rotated, of any character."""
    max_delta_deg: float
    """Largest rotation of a bone, [deg]."""
    root_moved: float
    """Largest displacement of the root, [m]."""
    reason: str = ""
    """Why it was skipped, or its provider's problem (see `TimedAnswer.note`); else empty."""


@dataclass(frozen=True)
class TickTrace:
    """Effects of all layers in one tick, in order of application."""

    number: int
    """Number of the tick, from 1."""
    time: float
    """Time of the tick, [s]."""
    layers: tuple[LayerTrace, ...]
    """One entry per layer, including those left out."""

    def of(self, layer: str) -> LayerTrace:
        """Return the entry of a layer; KeyError without one."""
        for entry in self.layers:
            if entry.layer == layer:
                return entry
        raise KeyError(layer)

    def lines(self) -> list[str]:
        """Return one line per layer, for a log."""
        return [
            f"{entry.kind:10} {entry.layer:20} weight {entry.weight:.2f}  "
            f"bones {entry.bones_changed:3d}  max {entry.max_delta_deg:7.2f} deg  "
            f"root {entry.root_moved:.3f} m  {entry.reason}".rstrip()
            for entry in self.layers
        ]


def change(
    layer: str, kind: str, weight: float, before: Pose, after: Pose, note: str = ""
) -> LayerTrace:
    """Return the trace of a layer that changed `before` to `after`."""
    if before is after:
        return LayerTrace(layer, kind, weight, 0, 0.0, 0.0, note)
    angles = quat_angle(before.rotations, after.rotations)
    return LayerTrace(
        layer,
        kind,
        weight,
        int((angles > CHANGED).any(axis=0).sum()),
        float(np.rad2deg(angles.max(initial=0.0))),
        float(np.linalg.norm(after.root - before.root, axis=-1).max(initial=0.0)),
        note,
    )


def left_out(layer: str, kind: str, reason: str) -> LayerTrace:
    """Return the trace of a layer that could not be applied."""
    return LayerTrace(layer, kind, 0.0, 0, 0.0, 0.0, reason)
