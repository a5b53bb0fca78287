"""The rig model: anatomy, and an MLP that learns what anatomy leaves open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.ik.rig_server.kernels import Array, forward, root_space
from ambulo.ik.rig_server.layout import RigLayout
from ambulo.ik.rig_server.network import OnlineMLP, Weights, slopes_of
from ambulo.ik.rig_server.pose_kernels import (
    INPUTS_OF_EFFECTOR,
    INPUTS_OF_RIG,
    Anatomy,
    Scene,
    apply_residuals,
    close_all,
    inputs_and_base,
    loss_and_gradient,
    tilt_effectors,
)

Floats = NDArray[np.float64]

HIDDEN = 64
"""Width of both hidden layers, as published."""
WEIGHTS = np.array([1.0, 0.5, 0.3])
"""Of the learner's loss: bone positions, rotations, contact (`loss_and_gradient`)."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """A predicted pose of one frame."""

    rotations: Floats
    """Local rotations wxyz, unit length. Shape (B, 4); the root's is the identity."""
    open_rotations: Floats
    """The same before the chains were closed on their targets: the network's own."""
    reached: NDArray[np.bool_]
    """Whether each target lies within reach. Shape (E,)."""


class RigModel:
    """Predicts the local rotations of a rig from the targets of its effectors.

    An answer is made in three steps: the mean pose with each two-bone chain closed on
    its target (`base`), turned by what the MLP has learned, and closed again. So a foot
    stands on its target as soon as the bones' lengths are known, and learning decides
    what the target leaves open: the way a knee points, the feet's turn, other bones.
    """

    def __init__(self, layout: RigLayout, *, seed: int = 0) -> None:
        """A model that knows nothing; `anatomy` is set by who has seen frames."""
        self.layout = layout
        inputs = INPUTS_OF_RIG + INPUTS_OF_EFFECTOR * len(layout.effectors)
        self.network = OnlineMLP(inputs, HIDDEN, layout.output_size, seed=seed)
        self.anatomy: Anatomy | None = None

    def predict(self, scene: Scene, row: int = 0) -> Prediction:
        """The pose for the targets of row `row` of `scene`; needs an anatomy."""
        assert self.anatomy is not None
        bones = len(self.layout.bones)
        local, opened = np.empty((bones, 4)), np.empty((bones, 4))
        reached = np.empty(len(self.layout.effectors), np.bool_)
        _predict(self.anatomy, self.network.running, scene, row, local, opened, reached)
        return Prediction(local, opened, reached)

    def learn(
        self, rotations: Floats, scene: Scene, rows: NDArray[np.int64], rate: float
    ) -> float:
        """One step on the frames `rows` (N,); their mean loss before it.

        Args:
            rotations: Local rotations of the frames in memory, (M, B, 4).
            scene: Their targets and ground, M frames.
            rows: Which frames.
            rate: Adam's rate.
        """
        assert self.anatomy is not None
        net = self.network
        loss = _gradient(
            self.anatomy, net.weights, rotations, scene, rows, WEIGHTS, net.slopes
        )
        net.step(rate)
        return float(loss)

    def positions(self, rotations: Floats) -> tuple[Floats, Floats]:
        """Positions (B, 3) [m] and orientations (B, 4) of a pose in the root's frame."""
        assert self.anatomy is not None
        positions = np.empty((len(rotations), 3))
        turned = np.empty((len(rotations), 4))
        root_space(
            self.anatomy.parents, self.anatomy.offsets, rotations, positions, turned
        )
        return positions, turned


@njit(cache=True)
def _predict(
    rig: Anatomy,
    net: Weights,
    scene: Scene,
    row: int,
    local: Array,
    opened: Array,
    reached: Array,
) -> None:
    x = np.empty((1, net.w1.shape[0]), np.float32)
    base = np.empty((len(rig.parents), 4))
    inputs_and_base(rig, scene, row, x[0], base)
    y = forward(x, net.w1, net.b1, net.w2, net.b2, net.w3, net.b3)[2]
    apply_residuals(base, y[0], opened)
    local[:] = opened
    close_all(rig, scene, row, local, reached)
    tilt_effectors(rig, scene, row, local, 1.0)
    tilt_effectors(rig, scene, row, opened, 1.0)


@njit(cache=True)
def _gradient(
    rig: Anatomy,
    net: Weights,
    rotations: Array,
    scene: Scene,
    rows: Array,
    weights: Array,
    slopes: Weights,
) -> float:
    """Mean loss of the frames `rows`; `slopes` is filled with its gradient."""
    count, bones = len(rows), len(rig.parents)
    x = np.empty((count, net.w1.shape[0]), np.float32)
    base = np.empty((count, bones, 4))
    for n in range(count):
        inputs_and_base(rig, scene, rows[n], x[n], base[n])
    first, second, y = forward(x, net.w1, net.b1, net.w2, net.b2, net.w3, net.b3)
    dy = np.empty_like(y)
    label, loss = np.empty((bones, 4)), 0.0
    for n in range(count):
        label[:] = rotations[rows[n]]
        tilt_effectors(rig, scene, rows[n], label, -1.0)
        loss += loss_and_gradient(
            rig, base[n], y[n], label, scene, rows[n], weights, 1.0 / count, dy[n]
        )
    slopes_of(net, x, first, second, dy, slopes)
    return loss / count
