"""A walk of the legs, made here, as frames and as what the wire carries."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from ambulo.ik.rig_server.frames import RigFrame, floats_of, frame_of
from ambulo.ik.rig_server.layout import LEGS

MakeWalk = Callable[..., list[RigFrame]]
FPS, PERIOD = 120.0, 132


def about(axis: int, angle: float) -> NDArray[np.float64]:
    q = np.zeros(4)
    q[0], q[axis + 1] = math.cos(angle / 2), math.sin(angle / 2)
    return q


def product(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    w = a[0] * b[0] - a[1:] @ b[1:]
    return np.array([w, *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def one_frame(
    phase: float, x: float, *, thigh: float = 0.42, swing: float = 0.4
) -> RigFrame:
    """The legs at `phase` [rad]: hips swing, knees bend about Y, thighs turn with it."""
    offsets, local = np.zeros((7, 3)), np.zeros((7, 4))
    local[:, 0] = 1.0
    for first, side, shift in ((1, -1.0, 0.0), (4, 1.0, math.pi)):
        at = phase + shift
        offsets[first] = (0.02, 0.1 * side, -0.05)
        offsets[first + 1] = (0.0, 0.0, -thigh)
        offsets[first + 2] = (0.0, 0.0, -0.4)
        twist = product(about(2, 0.08 * side * math.cos(at)), about(0, 0.04 * side))
        local[first] = product(about(1, -swing * math.sin(at)), twist)
        local[first + 1] = about(1, 0.35 + 0.3 * math.sin(at + 1.0))
        local[first + 2] = about(1, 0.15 * math.sin(at + 2.0))
    root = product(about(2, 0.05 * math.sin(phase)), about(0, 0.03 * math.cos(phase)))
    frame = RigFrame(
        np.array([x, 0.1, 0.9 + 0.02 * math.cos(2.0 * phase)]), root, offsets, local,
        np.tile([0.0, 0.0, 1.0], (2, 1)), np.zeros(2), np.zeros((2, 3)), np.zeros(3),
    )  # fmt: skip
    floats = floats_of(LEGS, frame)
    feet = feet_of(frame)
    floats[57:63] = 100.0 * feet.ravel()
    up = frame_of(LEGS, floats).up
    floats[49:57] = np.concatenate([[*up, 1.0], [*up, 1.0]])
    return frame_of(LEGS, floats)


def feet_of(frame: RigFrame) -> NDArray[np.float64]:
    """Where the feet are in the pelvis' frame, step by step from the hip down."""
    feet = []
    for thigh in (1, 4):
        a, b = frame.rotations[thigh], frame.rotations[thigh + 1]
        knee = frame.offsets[thigh] + turned(a, frame.offsets[thigh + 1])
        feet.append(knee + turned(product(a, b), frame.offsets[thigh + 2]))
    return np.array(feet)


def turned(q: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
    back = q * np.array([1.0, -1.0, -1.0, -1.0])
    return product(product(q, np.array([0.0, *v])), back)[1:]


@pytest.fixture(scope="session")
def make_walk() -> MakeWalk:
    def make(count: int, **options: float) -> list[RigFrame]:
        return [
            one_frame(2.0 * math.pi * i / PERIOD, 1.2 * i / FPS, **options)
            for i in range(count)
        ]

    return make


@pytest.fixture(scope="session")
def walk(make_walk: MakeWalk) -> list[RigFrame]:
    """Five cycles of 132 frames."""
    return make_walk(5 * PERIOD)


@pytest.fixture(scope="session")
def stream(walk: list[RigFrame]) -> list[NDArray[np.float32]]:
    """The walk as the 63 floats of the wire."""
    return [floats_of(LEGS, frame) for frame in walk]
