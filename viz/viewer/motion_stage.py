"""Looping motions of gait networks, with a slider for each parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.gait import GaitSpace
from ambulo.motion.landmarks import body_points
from ambulo.motion.motion import Motion
from ambulo.viz.viewer.skeleton_parts import SkeletonParts
from ambulo.viz.viewer.snapshot import Layer, Snapshot
from ambulo.viz.viewer.stage import Control, PlainStage, Plot, Slider, WriteFilm

MakeMotion = Callable[[Floats], Motion]
"""Makes one gait cycle from parameters (P,), in their units, along +X."""
_SLIDERS = 100
"""Number of steps of a slider."""


class GaitStage(PlainStage):
    """A gait that repeats its cycle, and changes with its parameters."""

    reach = 4.5

    def __init__(
        self, space: GaitSpace, make: MakeMotion, title: str, fixed: Sequence[str] = ()
    ) -> None:
        """Start with a healthy gait.

        Args:
            space: Parameters.
            make: Makes the motion of one cycle, always with the same number of frames.
            title: Title.
            fixed: Parameters with a single value.
        """
        self.title = title
        self._space, self._make, self._fixed = space, make, frozenset(fixed)
        self._values = space.default.copy()
        self._motion = make(self._values)
        self.dt = 1.0 / self._motion.fps
        self._parts = SkeletonParts(self._motion.skeleton)
        self.layers: dict[str, Layer] = self._parts.layers()
        self._points = body_points(self._motion)
        self._frame, self._time = 0, 0.0
        self._offset = np.zeros(3)

    def reset(self) -> Snapshot:
        """Restart from the first frame, at the origin."""
        self._frame, self._offset = 0, np.zeros(3)
        return self._snapshot(cut=True)

    def step(self) -> Snapshot:
        """The next frame; the cycle repeats from where it has ended."""
        self._time += self.dt
        self._frame += 1
        if self._frame == len(self._motion):
            self._frame = 0
            self._offset[0] += self._stride()
        return self._snapshot(cut=False)

    def controls(self) -> Mapping[str, Sequence[Control]]:
        """A slider for each parameter of the gait, then for those of the body."""
        folders: dict[str, list[Control]] = {}
        for index, parameter in enumerate(self._space.parameters):
            if parameter.name in self._fixed or parameter.high <= parameter.low:
                continue
            step = (parameter.high - parameter.low) / _SLIDERS
            slider = Slider(
                parameter.name.replace("_", " "), parameter.low, parameter.high,
                float(self._values[index]), step, self._setter(index),
            )  # fmt: skip
            folders.setdefault(parameter.group.capitalize(), []).append(slider)
        return folders

    def plots(self) -> Sequence[Plot]:
        """Heights of the pelvis and of the lowest points of the feet."""
        return [Plot("height", "height [m]", ("pelvis", "lowest point"))]

    def film(self) -> WriteFilm | None:
        """Film of a cycle."""
        from ambulo.viz.skeleton_actor import actor_of
        from ambulo.viz.skeleton_film import write_film

        motion = self._motion
        return lambda path: write_film(path, [actor_of(motion)], motion.fps)

    def _setter(self, index: int) -> Callable[[float], None]:
        def change(value: float) -> None:
            values = self._values.copy()
            values[index] = value
            before = self._points[self._frame, 0, 0] + self._offset[0]
            self._motion = self._make(values)
            self._values = values
            self._points = body_points(self._motion)
            self.dt = 1.0 / self._motion.fps
            self._frame = min(self._frame, len(self._motion) - 1)
            self._offset[0] = before - self._points[self._frame, 0, 0]

        return change

    def _stride(self) -> float:
        """Length of a cycle's path, [m]."""
        root = self._motion.root_positions[:, 0]
        return float(root[-1] - root[0] + (root[-1] - root[-2]))

    def _snapshot(self, *, cut: bool) -> Snapshot:
        points = self._points[self._frame] + self._offset
        values = {
            "height/pelvis": float(points[0, 2]),
            "height/lowest point": float(points[:, 2].min()),
        }
        return Snapshot(self._time, points[0], self._parts.parts(points), values, cut)
