"""Muscles as lines along their tendons' paths, coloured by activation."""

from __future__ import annotations

from typing import Self

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.viz.viewer.snapshot import Bytes, Layer, LineLayer, Lines, Part

LAYER = "muscles"
THICKNESS = 0.013
"""Thickness of the lines, [m]."""
_RELAXED, _ACTIVE = np.array([92.0, 118.0, 168.0]), np.array([226.0, 32.0, 30.0])


class Muscles:
    """The paths of all muscle tendons of N copies of a body.

    Each tendon has its largest possible number of lines; unused ones have zero length.
    """

    def __init__(self, model: mujoco.MjModel, actuators: Ints, copies: int) -> None:
        """Create the paths of the tendons of `actuators` (m,)."""
        self._actuators = actuators
        self._tendons = model.actuator_trnid[actuators, 0]
        self._copies = copies
        # Each site is a point; each wrapping geom at most two.
        self._room = int(2 * model.tendon_num[self._tendons].max())
        first = model.actuator_actadr[actuators]
        self._states: Ints | None = first if np.all(first >= 0) else None

    @classmethod
    def of(cls, model: mujoco.MjModel, copies: int) -> Self | None:
        """The muscles of a model; None without any."""
        muscle = model.actuator_dyntype == mujoco.mjtDyn.mjDYN_MUSCLE
        pulled = model.actuator_trntype == mujoco.mjtTrn.mjTRN_TENDON
        gains = model.actuator_gaintype == mujoco.mjtGain.mjGAIN_MUSCLE
        found = np.flatnonzero(pulled & (muscle | gains))
        return cls(model, found, copies) if len(found) else None

    def layers(self) -> dict[str, Layer]:
        """The layer of all muscles."""
        return {LAYER: LineLayer(THICKNESS, in_world=True)}

    def read(self, data: mujoco.MjData, shift: Floats) -> tuple[Floats, Floats]:
        """Path points (m, room, 3), [m], moved by `shift` (3,), and activations (m,)."""
        points = data.wrap_xpos.reshape(-1, 3)
        paths = np.empty((len(self._tendons), self._room, 3))
        for row, tendon in enumerate(self._tendons):
            first, count = int(data.ten_wrapadr[tendon]), int(data.ten_wrapnum[tendon])
            count = min(count, self._room)
            paths[row, :count] = points[first : first + count]
            paths[row, count:] = paths[row, max(count - 1, 0)]
        active = (
            data.ctrl[self._actuators]
            if self._states is None
            else data.act[self._states]
        )
        return paths + shift, np.clip(active, 0.0, 1.0)

    def parts(self, read: list[tuple[Floats, Floats]]) -> dict[str, Part]:
        """Lines from the results of `read` for each copy."""
        paths = np.concatenate([path for path, _ in read])
        active = np.concatenate([activation for _, activation in read])
        points = np.stack([paths[:, :-1], paths[:, 1:]], axis=2).reshape(-1, 2, 3)
        colours = np.repeat(activation_colours(active), self._room - 1, axis=0)
        return {LAYER: Lines(points, colours)}


def activation_colours(active: Floats) -> Bytes:
    """Colours (m, 3) of activations (m,) in [0, 1]: from blue-grey to red."""
    share = np.clip(active, 0.0, 1.0)[:, None]
    return ((1.0 - share) * _RELAXED + share * _ACTIVE).round().astype(np.uint8)
