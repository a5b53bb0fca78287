"""Which parts of the soles stand when in a captured cycle, and where."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.gaits.cycle import derivative

DEPTH = 0.001
"""How deep a standing ball presses into the ground, [m]."""
FLIGHT_HEIGHT = 0.015
"""Height of the lowest ball over that of stance above which nothing stands, [m]."""


def stance_schedule(
    places: Floats, period: float, stride: Floats
) -> tuple[Floats, Floats]:
    """How much each ball stands (N, P), 0 to 1, and where it then is (N, P, 3), [m].

    A ball stands where it is within a centimetre of the lowest one and slow.
    """
    count = len(places)
    progress = (np.arange(count)[:, None] / count * stride)[:, None]
    speed = np.linalg.norm(
        derivative(places - progress, period) + stride / period, axis=-1
    )
    lowest = places[..., 2].min(axis=1, keepdims=True)
    # In flight the lowest ball is nowhere near the ground, which is where stance is.
    ground = np.minimum(lowest, np.median(lowest) + FLIGHT_HEIGHT)
    lift = places[..., 2] - ground
    standing = np.exp(-((lift / 0.010) ** 2) - (speed / 0.35) ** 2)
    phase = np.arange(count)
    anchors = np.zeros_like(places)
    for p in range(places.shape[1]):
        on = standing[:, p]
        middle = np.angle((on * np.exp(2j * np.pi * phase / count)).sum())
        # Whole cycles between this phase and the middle of the ball's stance.
        turns = np.round((middle / (2.0 * np.pi) * count - phase) / count)
        there = places[:, p, :2] + turns[:, None] * stride[:2]
        anchor = (on[:, None] * there).sum(axis=0) / max(on.sum(), 1e-9)
        anchors[:, p, :2] = anchor - turns[:, None] * stride[:2]
        anchors[:, p, 2] = -DEPTH
    return standing, anchors
