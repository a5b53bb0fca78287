"""A clip as gait networks see it: its strides, with what can be measured directly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import GaitDataError
from ambulo.configs.gait import GaitSpace, gait_space
from ambulo.motion.gaits.strides import cycles_of_clip
from ambulo.motion.motion import Motion
from ambulo.policies.agents.gait_network import GaitNetwork

MOST = 12
"""Strides of a clip that are looked at, spread over it."""
LENGTHS = "skeleton"
"""Kind of the parameters that the clip's skeleton tells."""


@dataclass(frozen=True, eq=False)
class Observation:
    """One or two strides of a clip."""

    poses: Floats
    """Two cycles from the moment at which the network's cycles begin. Shape (60, 101)."""
    measured: dict[str, float]
    """Stride, cadence and lengths, measured on the clip, also outside of their ranges."""
    fps: float
    """True rate of the frames, [Hz]."""
    name: str
    """The foot that begins, and when it strikes."""


def observe(motion: Motion, network: GaitNetwork) -> list[Observation]:
    """The strides of a clip of any skeleton.

    The network's cycles may begin at another moment than the left foot's strike; that
    moment is where poses and network agree best.

    Raises:
        GaitDataError: There is no steady stride.
    """
    cycles = cycles_of_clip(motion)
    if not len(cycles):
        raise GaitDataError(
            f"{motion.label}: no steady stride straight ahead: feet that "
            "strike twice, at 0.4 m/s or more"
        )
    names = gait_space("human23").names
    rows = np.linspace(0, len(cycles) - 1, min(MOST, len(cycles))).astype(np.int64)
    result = []
    for row in np.unique(rows).tolist():
        measured = dict(zip(names, cycles.params[row].tolist(), strict=True))
        inside, _ = within(network.space, measured)
        poses = np.roll(
            cycles.frames[row], -begin(cycles.frames[row], network, inside), axis=0
        )
        result.append(
            Observation(poses, measured, float(cycles.fps[row]), cycles.names[row])
        )
    return result


def begin(poses: Floats, network: GaitNetwork, named: dict[str, float]) -> int:
    """The frame of poses (60, 101) at which the network's cycle begins, 0 to 29."""
    said = network.frames(network.vector(**named | network.held), cycles=2)
    gaps = [
        np.square(np.roll(poses, -k, axis=0) - said).mean(axis=0) for k in range(30)
    ]
    scale = np.maximum(said.var(axis=0), 1e-4)
    return int(np.argmin([(gap / scale).mean() for gap in gaps]))


def within(
    space: GaitSpace, named: dict[str, float]
) -> tuple[dict[str, float], list[str]]:
    """Values inside their ranges, and the names of those that were not."""
    inside, moved = {}, []
    for name, value in named.items():
        if name not in space.names:
            continue
        k = space.index(name)
        inside[name] = float(np.clip(value, space.low[k], space.high[k]))
        if abs(inside[name] - value) > 1e-9:
            moved.append(name)
    return inside, moved


def lengths_of(space: GaitSpace, measured: dict[str, float]) -> dict[str, float]:
    """Return the measured values that follow from the skeleton."""
    names = {p.name for p in space.parameters if p.group == LENGTHS}
    return {name: value for name, value in measured.items() if name in names}
