"""Learning one character from its stream: predict first, then learn.

Every frame is scored before the model learns from it (prequential evaluation; Dawid,
1984). The reported errors are therefore those of unseen frames.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Array, Floats, Ints
from ambulo.motion.quaternion_kernels import log_between
from ambulo.rig_server.anatomy import anatomy_of
from ambulo.rig_server.frames import RigFrame
from ambulo.rig_server.kernels import root_space
from ambulo.rig_server.layout import RigLayout
from ambulo.rig_server.learning_kernels import batch_gradient, make_ready
from ambulo.rig_server.memory import RECENT, FrameMemory
from ambulo.rig_server.network import OnlineMLP, Weights
from ambulo.rig_server.pose_kernels import Anatomy, Ready, Scene, predict_pose

log = logging.getLogger(__name__)

HIDDEN = 64
"""Width of both hidden layers, as published."""
WEIGHTS = np.array([1.0, 0.5, 0.3])
"""Weights of the loss (`loss_and_gradient`): bone positions, rotations, contact."""
BATCH = 32
"""Frames of a learning step: the newest and replayed ones."""
SMOOTHING = 60.0
"""Frames over which prequential errors are averaged (time constant)."""
SPREAD = 512
"""Largest number of frames for measuring the anatomy."""
SAME = 1e-5
"""Distance of targets from the effectors below which they ask for the frame's own pose, [m]."""
REFRESHED = (2, 4, 8, 16, 32, 64, 128, 256)
"""Frame counts at which the anatomy is measured again; later every `SPREAD`."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """A predicted pose of one frame."""

    rotations: Floats
    """Local rotations wxyz, unit length. Shape (B, 4); the root's is the identity."""
    reached: NDArray[np.bool_]
    """Whether each target lies within reach. Shape (E,)."""


@dataclass(frozen=True)
class FrameScore:
    """Errors of one prediction, before the model learns from the frame."""

    loss: float
    """The published loss of the answer, [cm^2]: squared distance of the FK foot from its
    target, averaged over the effectors with a ground hit (NaN without any), plus 0.01 times the
    mean of (length of quaternion - 1)^2."""
    network_loss: float
    """Loss of the network's pose before chains are closed, [cm^2]."""
    position_error: float
    """Distance of a bone from its true position, mean over all but the root, [m]."""
    middle_error: float
    """`position_error` of the chains' lower bones (calves), [m]; NaN without chains."""
    angle_error: float
    """Angle of a bone's orientation in the root's frame from the true one, mean over all but
    the root, [rad]."""
    middle_angle: float
    """`angle_error` of the chains' lower bones, [rad]."""


@dataclass
class PrequentialErrors:
    """Errors of predictions made before learning, smoothed over about `SMOOTHING` frames."""

    frames: int = 0
    """Frames scored."""
    learned: int = 0
    """Number of learned frames (fewer if the server had no time)."""
    means: dict[str, float] = field(default_factory=dict)
    """Smoothed value of each field of `FrameScore`."""
    training_loss: float = math.nan
    """The learner's own loss of its last step; no unit, and not of unseen frames."""

    def add(self, score: FrameScore) -> None:
        """Add the score of a frame."""
        self.frames += 1
        keep = min(1.0 - 1.0 / SMOOTHING, 1.0 - 1.0 / self.frames)
        for name, value in vars(score).items():
            if math.isfinite(value):
                old = self.means.get(name, value)
                self.means[name] = keep * old + (1.0 - keep) * value

    def mean(self, name: str) -> float:
        """Smoothed value of a field of `FrameScore`, NaN before the first."""
        return self.means.get(name, math.nan)


class RigLearner:
    """The online learner of one character: memory, anatomy, network, errors.

    An answer has three steps: the mean pose with each two-bone chain closed on its target
    (`base`), rotated by the MLP's residuals, and closed again. So a foot is on its target as
    soon as the bones' lengths are known, and learning determines the rest: direction of the
    knee, rotation of the feet, other bones.
    """

    def __init__(self, layout: RigLayout, *, seed: int = 0) -> None:
        """A learner without any frames."""
        self.layout = layout
        self.memory = FrameMemory(layout, seed=seed)
        inputs = self.memory.ready.inputs.shape[1]
        self.network = OnlineMLP(inputs, HIDDEN, layout.output_size, seed=seed)
        self.anatomy: Anatomy | None = None
        """Lengths, mean pose and hinges of the bones; None before the first frame."""
        self._readings = 0  # of the anatomy
        self.progress = PrequentialErrors()
        self.size = 1.0
        """Mean length of the limbs, [m]."""
        self._parents = np.array(layout.parents)
        self._ends = np.array(layout.effectors)
        self._last: tuple[RigFrame, Prediction] | None = None
        self._due = 1  # frame count at the next measurement of the anatomy

    def observe(self, frame: RigFrame) -> FrameScore:
        """Score the model on `frame`, then store the frame; call `learn` afterwards.

        The prediction is made from the true positions of the frame's effectors, which
        may differ from its targets.
        """
        first = self.anatomy is None
        if first:
            self.memory.add(frame, self.effectors_of(frame))
            self._read_anatomy()
        score, prediction, reached = self._scored(frame)
        if not first:
            self.memory.add(frame, reached)
        same = float(np.abs(reached - frame.targets).max()) < SAME
        self._last = (frame, prediction) if same else None
        return score

    def effectors_of(self, frame: RigFrame) -> NDArray[np.float64]:
        """Effector positions of a frame's own pose, in the root's frame, [m]. (E, 3)."""
        places, _ = _kinematics(self._parents, frame.offsets, frame.rotations)
        return places[self._ends]

    def learn(self, number: int | None = None) -> float:
        """One gradient step on one frame and replayed ones; the loss before the step.

        Args:
            number: Number of the frame, counted from 1 in the order of observation, one of the
                newest `RECENT`; by default the newest.
        """
        if self.memory.seen >= self._due:
            self._read_anatomy()
        newest = (number or self.memory.seen) - 1
        rows = self.memory.batch(newest % RECENT, BATCH)
        self._last = None
        memory = self.memory
        net = self.network
        assert self.anatomy is not None
        loss = float(
            batch_gradient(
                self.anatomy, self._readings, net.weights, memory.rotations,
                memory.scene, memory.ready, rows, WEIGHTS, net.slopes,
            )
        )  # fmt: skip
        net.step()
        self.progress.learned += 1
        self.progress.training_loss = loss
        return loss

    def predict(
        self, frame: RigFrame, targets: NDArray[np.float64] | None = None
    ) -> Prediction:
        """The pose for the targets of `frame`, or for `targets` (E, 3) [m] instead."""
        if targets is None and self._last is not None and self._last[0] is frame:
            return self._last[1]  # the frame that was just scored
        assert self.anatomy is not None
        scene = _scene_of(frame, frame.targets if targets is None else targets)
        local, opened = np.empty((2, len(self._parents), 4))
        reached = np.empty(len(self._ends), np.bool_)
        predict_pose(
            self.anatomy, self.network.running, self.memory.ready, scene, local,
            opened, reached,
        )  # fmt: skip
        return Prediction(local, reached)

    def positions(self, rotations: Floats) -> tuple[Floats, Floats]:
        """Positions (B, 3) [m] and orientations (B, 4) of a pose in the root's frame."""
        assert self.anatomy is not None
        return _kinematics(self._parents, self.anatomy.offsets, rotations)

    def resume(self) -> None:
        """Rebuild the anatomy after memory and network were restored."""
        if self.memory.seen:
            anatomy, memory = self._read_anatomy(), self.memory
            make_ready(
                anatomy, self._readings, memory.rotations, memory.scene, memory.filled,
                memory.ready,
            )  # fmt: skip

    def _read_anatomy(self) -> Anatomy:
        rows = self.memory.spread(SPREAD)
        anatomy = self.anatomy = anatomy_of(
            self.layout,
            self.memory.offsets[rows].astype(np.float64),
            self.memory.rotations[rows],
        )
        self._readings += 1
        self.size = float(anatomy.reach.mean())
        seen = self.memory.seen
        later = SPREAD * (seen // SPREAD + 1)
        self._due = next((count for count in REFRESHED if count > seen), later)
        return anatomy

    def _scored(
        self, frame: RigFrame
    ) -> tuple[FrameScore, Prediction, NDArray[np.float64]]:
        """Score, prediction, and the frame's own effector positions, [m]. (E, 3)."""
        assert self.anatomy is not None
        bones, effectors = len(self._parents), len(self._ends)
        values, reached = np.empty(6), np.empty((effectors, 3))
        local, opened = np.empty((bones, 4)), np.empty((bones, 4))
        within = np.empty(effectors, np.bool_)
        scene = _scene_of(frame, reached)
        _predict_and_score(
            self.anatomy, self.network.running, self.memory.ready, scene,
            frame.offsets, frame.rotations, local, opened, within, values,
        )  # fmt: skip
        score = FrameScore(*values.tolist())
        self.progress.add(score)
        return score, Prediction(local, within), reached


def _kinematics(
    parents: Ints, offsets: Floats, rotations: Floats
) -> tuple[Floats, Floats]:
    """Positions (B, 3) [m] and orientations (B, 4) of all bones in the root's frame."""
    positions, turned = np.empty((len(parents), 3)), np.empty((len(parents), 4))
    root_space(parents, offsets, rotations, positions, turned)
    return positions, turned


def _scene_of(frame: RigFrame, targets: NDArray[np.float64]) -> Scene:
    """The scene of one frame with its effectors' targets (E, 3), [m]."""
    return Scene(frame.up[None], frame.normals[None], frame.hits[None], targets[None])


@njit(cache=True)
def _predict_and_score(
    rig: Anatomy,
    net: Weights,
    ready: Ready,
    scene: Scene,
    offsets: Array,
    rotations: Array,
    local: Array,
    opened: Array,
    within: Array,
    values: Array,
) -> None:
    """Predict a frame from its effector positions, and compare with the frame.

    Fills the targets of `scene` (one row) and the last four arguments.
    """
    bones, effectors = len(rig.parents), len(rig.effectors)
    positions, turned = np.empty((bones, 3)), np.empty((bones, 4))
    root_space(rig.parents, offsets, rotations, positions, turned)
    reached = scene.targets[0]
    for e in range(effectors):
        for i in range(3):
            reached[e, i] = positions[rig.effectors[e], i]
    predict_pose(rig, net, ready, scene, local, opened, within)
    _score(
        rig.parents, rig.effectors, rig.chains, rig.offsets, positions, turned,
        scene.hits[0], reached, local, opened, values,
    )  # fmt: skip


@njit(cache=True)
def _score(
    parents: Array,
    effectors: Array,
    chains: Array,
    offsets: Array,
    true_positions: Array,
    true_turned: Array,
    hits: Array,
    targets: Array,
    local: Array,
    opened: Array,
    out: Array,
) -> None:
    """Fill `out` with the fields of `FrameScore`."""
    bones = len(parents)
    positions, turned = np.empty((bones, 3)), np.empty((bones, 4))
    v = np.empty(3)
    for which in range(2):
        pose = opened if which == 0 else local
        root_space(parents, offsets, pose, positions, turned)
        total, count = 0.0, 0
        for e in range(len(effectors)):
            if hits[e] > 0.5:
                count += 1
                for i in range(3):
                    error = positions[effectors[e], i] - targets[e, i]
                    total += 1e4 * error * error
        total = total / count if count > 0 else math.nan
        lengths = 0.0
        for bone in range(1, bones):
            norm = 0.0
            for i in range(4):
                norm += pose[bone, i] * pose[bone, i]
            lengths += (math.sqrt(norm) - 1.0) ** 2
        out[1 - which] = total + 0.01 * lengths / (bones - 1)
    out[2], out[4] = 0.0, 0.0
    middle, middle_angle, middles = 0.0, 0.0, 0
    for bone in range(1, bones):
        distance = 0.0
        for i in range(3):
            distance += (positions[bone, i] - true_positions[bone, i]) ** 2
        distance = math.sqrt(distance)
        log_between(turned[bone], true_turned[bone], v)
        angle = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        out[2] += distance / (bones - 1)
        out[4] += angle / (bones - 1)
        for e in range(len(chains)):
            if chains[e, 1] == bone:
                middle += distance
                middle_angle += angle
                middles += 1
    out[3] = middle / middles if middles > 0 else math.nan
    out[5] = middle_angle / middles if middles > 0 else math.nan
