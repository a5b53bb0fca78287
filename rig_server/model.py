"""The rig model: anatomy, and an MLP that learns what anatomy leaves open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Array, Floats
from ambulo.rig_server.kernels import copy_into, forward, root_space
from ambulo.rig_server.layout import RigLayout
from ambulo.rig_server.learning_kernels import (
    Ready,
    batch_gradient,
    familiarity,
    make_ready,
)
from ambulo.rig_server.network import OnlineMLP, Weights
from ambulo.rig_server.pose_kernels import (
    INPUTS_OF_EFFECTOR,
    INPUTS_OF_RIG,
    Anatomy,
    Scene,
    apply_residuals,
    close_all,
    inputs_and_base,
    tilt_effectors,
)

HIDDEN = 64
"""Width of both hidden layers, as published."""
FAMILIAR = 0.14
"""Distance from learned inputs, each effector's in units of its reach, at which the
network's share of an answer has fallen to exp(-1)."""
WEIGHTS = np.array([1.0, 0.5, 0.3])
"""Of the learner's loss (`loss_and_gradient`): bone positions, rotations, contact."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """A predicted pose of one frame."""

    rotations: Floats
    """Local rotations wxyz, unit length. Shape (B, 4); the root's is the identity."""
    open_rotations: Floats
    """The network's rotations before the chains are closed on their targets. (B, 4)."""
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
        """An untrained model; the learner sets `anatomy` from the frames."""
        self.layout = layout
        inputs = INPUTS_OF_RIG + INPUTS_OF_EFFECTOR * len(layout.effectors)
        self.network = OnlineMLP(inputs, HIDDEN, layout.output_size, seed=seed)
        self._anatomy: Anatomy | None = None
        self._readings = 0

    @property
    def anatomy(self) -> Anatomy | None:
        """Lengths, mean pose and hinges of the bones; None before the first frame."""
        return self._anatomy

    @anatomy.setter
    def anatomy(self, anatomy: Anatomy | None) -> None:
        self._anatomy = anatomy
        self._readings += 1

    def predict(self, scene: Scene, ready: Ready) -> Prediction:
        """The pose for the targets of the first row of `scene`; needs an anatomy.

        Args:
            scene: Ground and targets.
            ready: The frames in memory, as learning steps have prepared them.
        """
        assert self.anatomy is not None
        bones = len(self.layout.bones)
        local, opened = np.empty((bones, 4)), np.empty((bones, 4))
        reached = np.empty(len(self.layout.effectors), np.bool_)
        predict_pose(
            self.anatomy, self.network.running, ready, scene, local, opened, reached
        )
        return Prediction(local, opened, reached)

    def prepare(
        self,
        rotations: Floats,
        scene: Scene,
        ready: Ready,
        rows: NDArray[np.int64],
    ) -> None:
        """Fill `ready` for the frames `rows` (N,), as if they had been learned from.

        The arguments are those of `learn`.
        """
        assert self.anatomy is not None
        make_ready(self.anatomy, self._readings, rotations, scene, rows, ready)

    def learn(
        self,
        rotations: Floats,
        scene: Scene,
        ready: Ready,
        rows: NDArray[np.int64],
    ) -> float:
        """One step on the frames `rows` (N,); their mean loss before it.

        Args:
            rotations: Local rotations of the frames in memory, (M, B, 4).
            scene: Their targets and ground, M frames.
            ready: What earlier steps made of them; kept up to date.
            rows: Which frames.
        """
        assert self.anatomy is not None
        net = self.network
        loss = batch_gradient(
            self.anatomy, self._readings, net.weights, rotations, scene, ready, rows,
            WEIGHTS, net.slopes,
        )  # fmt: skip
        net.step()
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
def predict_pose(
    rig: Anatomy,
    net: Weights,
    ready: Ready,
    scene: Scene,
    local: Array,
    opened: Array,
    reached: Array,
) -> None:
    """The pose for the first row of `scene`: fills `local`, `opened` and `reached`.

    The network's outputs are scaled by exp(-(d / `FAMILIAR`)^2), with d the distance of
    the inputs from the nearest frame learned from (`familiarity`): far from all of them
    a network extrapolates, and the anatomy alone is nearer to the truth.
    """
    row = np.int64(0)  # a plain 0 would compile the functions below once more
    x = np.empty((1, net.w1.shape[0]), np.float32)
    base = np.empty((len(rig.parents), 4))
    inputs_and_base(rig, scene, row, x[0], base)
    y = forward(x, net.w1, net.b1, net.w2, net.b2, net.w3, net.b3)[2]
    share = familiarity(ready, x[0], len(rig.effectors), FAMILIAR)
    for i in range(y.shape[1]):
        y[0, i] *= share
    apply_residuals(base, y[0], opened)
    copy_into(opened, local)
    close_all(rig, scene, row, local, reached)
    tilt_effectors(rig, scene, row, local, 1.0)
    tilt_effectors(rig, scene, row, opened, 1.0)
