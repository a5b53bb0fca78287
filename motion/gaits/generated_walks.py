"""Walks of the project's own gait model, for evaluations without captured data.

Strides and cadences of the shipped healthy walk are varied on the default body.
"""

from __future__ import annotations

from collections.abc import Sequence

from ambulo.configs.gait import gait_space
from ambulo.motion.gaits.scaled_walk import gait_cycle, human23_soles
from ambulo.motion.gaits.skeleton import gait_skeleton
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample

SOURCE = "walks generated from the shipped healthy walk"
"""Description of these motions, for reports."""
STRIDES = (0.75, 0.9, 1.05, 1.2)
"""Stride lengths over the healthy one."""
CADENCES = (0.85, 1.0, 1.15)
"""Cadences over the healthy one."""


def generated_walks(
    fps: float,
    seconds: float,
    strides: Sequence[float] = STRIDES,
    cadences: Sequence[float] = CADENCES,
) -> list[Motion]:
    """Return a straight walk of each stride and cadence, on the default body."""
    space = gait_space("human23")
    walks = []
    for stride in strides:
        for cadence in cadences:
            values = space.vector(stride=stride, cadence=cadence)
            soles = human23_soles(gait_skeleton(space, values))
            cycle = gait_cycle(space, values, soles)
            count = int(seconds / cycle.period) + 1
            motion = resample(cycle.motion(count), fps)
            name = f"{cycle.speed:.2f} m/s (stride {stride:g}, cadence {cadence:g})"
            walks.append(motion[: round(seconds * fps)].replace(name=name))
    return walks
