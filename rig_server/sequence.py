"""The next frame from the last few: learned from the stream, and run without it.

An MLP takes the pose coordinates of four earlier frames and the root's last step to the
change of the coordinates and the next step. In training the inputs are pushed off the
path and the answer leads a tenth of the way back, which makes the walk attract: without
it a free run drifts away within seconds, with the whole way back it swings around it.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Array
from ambulo.rig_server.frames import RigFrame
from ambulo.rig_server.kernels import forward
from ambulo.rig_server.layout import RigLayout
from ambulo.rig_server.network import LARGEST, OnlineMLP, Weights, slopes_of
from ambulo.rig_server.pose_pca import (
    COMPONENTS,
    PosePCA,
    Track,
    place_frames,
    pose_pca_of,
)

KEPT = 2048
"""Newest frames that are kept, 17 s at 120 Hz."""
LAGS = (0, 2, 4, 8)
"""How many frames back the inputs reach."""
_LAGS = np.array(LAGS)
FIRST = 240
"""Frames after which learning begins."""
BATCH, HIDDEN, RATE, SLOWEST = 32, 64, 2e-3, 2e-4
PUSH = 0.3
"""Largest perturbation of the coordinates, in standard deviations (scaled uniformly)."""
PULL = 0.1
"""Fraction of the perturbation that the target removes."""
EXPLAINED = 0.95
"""Least fraction of the variance that the PCA must explain."""
JUMP_TURN = 0.5
"""A bone that turns farther in one frame has jumped: a cut in the stream, [rad]."""
JUMP = 0.5
"""A root that moves farther in one frame has jumped, [m]."""
BLOCK = 16
"""Frames that are projected at once, and learned from together."""
MIN_STEPS = 150
"""Gradient steps before free runs are allowed."""
EVERY = 2
"""Calls of `learn` for each gradient step."""


class SequenceLearner:
    """Learns to predict the next frame of a stream; `run` continues the stream."""

    def __init__(self, layout: RigLayout, *, seed: int = 0) -> None:
        """A learner without any frames."""
        self.layout = layout
        bones = len(layout.bones)
        self._positions = np.zeros((KEPT, 3))
        self._rotations = np.zeros((KEPT, 4))
        self._local = np.zeros((KEPT, bones - 1, 4))
        self._run = np.zeros(KEPT, np.int64)  # frames since the last cut, itself too
        self._coordinates = np.zeros((KEPT, 0), np.float32)
        self._steps = np.zeros((KEPT, 3), np.float32)
        self._rng = np.random.default_rng(seed)
        self._seed = seed
        self.seen = 0
        self._projected = 0  # frames whose coordinates are known
        self._due = FIRST  # when the plane is looked at again
        self._asked = 0  # calls of `learn`
        self.space: PosePCA | None = None
        self.network: OnlineMLP | None = None
        self._change = np.ones(0, np.float32)
        self._step_mean, self._step_spread = (
            np.zeros(3, np.float32),
            np.ones(3, np.float32),
        )
        self.error = float("nan")
        """Mean squared error of the last training batch, 1 for guessing the mean."""

    def add(self, frame: RigFrame, *, follows: bool = True) -> None:
        """Take the next frame of the stream; not `follows` after a gap."""
        row, before = self.seen % KEPT, (self.seen - 1) % KEPT
        self._positions[row] = frame.root_position
        self._rotations[row] = frame.root_rotation
        self._local[row] = frame.rotations[1:]
        joined = follows and self.seen > 0 and self._joined(before, row)
        self._run[row] = self._run[before] + 1 if joined else 1
        self.seen += 1
        if self.space is not None and self.seen - self._projected >= BLOCK:
            space, count = self.space, self.seen - self._projected
            place_frames(
                space.reference, space.mean_local, space.mean, space.axes,
                self._positions, self._rotations, self._local,
                self._projected, count, self._coordinates, self._steps,
            )  # fmt: skip
            self._projected = self.seen

    def learn(self) -> None:
        """One gradient step every `EVERY` calls; the pose PCA is refitted at times."""
        if self.seen >= self._due:
            self._due = max(2 * self._due, self.seen + 1)
            self._fit()
        self._asked += 1
        if self._asked % EVERY:
            return
        oldest = max(0, self.seen - KEPT + max(LAGS))
        net, choices = self.network, self._projected - 1 - oldest
        if net is None or choices <= 0:
            return
        width, rng = self._coordinates.shape[1], self._rng
        error = _batch_gradient(
            self._coordinates, self._steps, self._run, _LAGS, oldest, choices,
            self._change, self._step_mean, self._step_spread, net.weights, net.slopes,
            rng.random(2 * BATCH),
            rng.standard_normal((BATCH, (1 + len(LAGS)) * width + 3), np.float32),
        )  # fmt: skip
        if math.isfinite(error):
            self.error = error
            net.step(max(SLOWEST, RATE / math.sqrt(1.0 + net.steps / 1000.0)))

    @property
    def ready(self) -> bool:
        """Whether enough frames were seen, and enough since the last cut, for `run`."""
        newest = self._run[(self.seen - 1) % KEPT]
        learned = self.network is not None and self.network.steps >= MIN_STEPS
        return bool(learned and newest > max(LAGS))

    def run(self, count: int) -> Track:
        """The next `count` frames, as they would come; needs `ready`."""
        space, net = self.space, self.network
        assert space is not None
        assert net is not None
        newest = self.seen - 1
        back = np.arange(newest - max(LAGS), newest + 1) % KEPT
        track = self._track(back)
        history = [row.astype(np.float32) for row in space.coordinates(track)]
        step = self._normal(space.steps(track)[-1:].astype(np.float32))[0]
        # What the plane cannot hold of the newest pose fades out, so that nothing jumps.
        extra = space.features(track)[-1] - (space.mean + history[-1] @ space.back)
        features = np.empty((count, len(space.mean)))
        position, yaw = (
            track.positions[-1].copy(),
            float(space.yaw(track.rotations[-1])),
        )
        path, yaws = np.empty((count, 3)), np.empty(count)
        for i in range(count):
            x = np.concatenate([*(history[-1 - lag] for lag in LAGS), step])[None]
            y = net.predict(x)[0]
            width = len(self._change)
            new = np.clip(history[-1] + y[:width] * self._change, -4.0, 4.0)
            step = np.clip(y[width:], -4.0, 4.0)
            history = [*history[1:], new.astype(np.float32)]
            extra *= 0.95
            features[i] = space.mean + new @ space.back + extra
            moved = step * self._step_spread + self._step_mean
            cosine, sine = np.cos(yaw), np.sin(yaw)
            position[0] += cosine * moved[0] - sine * moved[1]
            position[1] += sine * moved[0] + cosine * moved[1]
            yaw += float(moved[2])
            path[i], yaws[i] = position, yaw
        heights, root, local = space.poses(features, yaws)
        path[:, 2] = heights
        return Track(path, root, local)

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Copies of what was learned; the frames themselves are not kept."""
        if self.space is None or self.network is None:
            return {}
        space = {
            name: np.asarray(value, np.float64)
            for name, value in vars(self.space).items()
        }
        scales: dict[str, NDArray[np.generic]] = {
            "change": self._change.copy(),
            "step_mean": self._step_mean.copy(),
            "step_spread": self._step_spread.copy(),
        }
        return space | scales | self.network.state()

    def restore(self, state: dict[str, NDArray[np.generic]]) -> None:
        """Take over `state`; ValueError or KeyError when it does not fit."""
        if not state:
            return
        bones = len(self.layout.bones)
        width = len(state["change"])
        if not 1 <= width <= COMPONENTS:
            raise ValueError(f"change: expected 1 to {COMPONENTS} numbers")
        features = 3 * (bones - 1) + 4
        shapes = {
            "reference": (4,), "mean_local": (bones - 1, 4), "mean": (features,),
            "axes": (features, width), "back": (width, features), "explained": (),
            "change": (width,), "step_mean": (3,), "step_spread": (3,),
        }  # fmt: skip
        for name, shape in shapes.items():
            good = state[name].shape == shape and (np.abs(state[name]) <= LARGEST).all()
            if not good:
                raise ValueError(f"{name}: expected finite numbers of shape {shape}")
        for name in ("reference", "mean_local"):
            if not (np.abs(np.linalg.norm(state[name], axis=-1) - 1.0) < 0.5).all():
                raise ValueError(f"{name}: expected quaternions of length 1")
        network = OnlineMLP(len(LAGS) * width + 3, HIDDEN, width + 3, seed=self._seed)
        network.restore(state)
        arrays = {name: state[name].astype(np.float64) for name in shapes}
        self.space = PosePCA(
            arrays["reference"],
            arrays["mean_local"],
            arrays["mean"],
            arrays["axes"],
            arrays["back"],
            float(arrays["explained"]),
        )
        self.network = network
        self._change = state["change"].astype(np.float32)
        self._step_mean = state["step_mean"].astype(np.float32)
        self._step_spread = np.maximum(state["step_spread"], 1e-4).astype(np.float32)
        self._coordinates = np.zeros((KEPT, width), np.float32)

    def _joined(self, before: int, row: int) -> bool:
        return bool(
            _near(
                self._positions, self._rotations, self._local, before, row,
                JUMP, float(np.cos(0.5 * JUMP_TURN)),
            )
        )  # fmt: skip

    def _track(self, rows: NDArray[np.int64]) -> Track:
        return Track(self._positions[rows], self._rotations[rows], self._local[rows])

    def _normal(self, steps: NDArray[np.float32]) -> NDArray[np.float32]:
        return (steps - self._step_mean) / self._step_spread

    def _fit(self) -> None:
        """Fit the pose PCA to the stored frames, unless the present one still fits."""
        rows = np.arange(max(0, self.seen - KEPT), self.seen) % KEPT
        track = self._track(rows)
        if self.space is not None:
            flat = self.space.features(track) - self.space.mean
            lost = flat - flat @ self.space.axes @ self.space.back
            whole = flat - flat.mean(axis=0)
            if np.square(lost).sum() <= (1.0 - EXPLAINED) * np.square(whole).sum():
                return
        self.space, self._projected = pose_pca_of(track), self.seen
        coordinates = self.space.coordinates(track).astype(np.float32)
        joined = self._run[rows[1:]] > 1
        if not joined.any():
            self.space = None
            return
        steps = np.zeros((len(rows), 3), np.float32)
        steps[1:] = self.space.steps(track)
        self._coordinates = np.zeros((KEPT, coordinates.shape[1]), np.float32)
        self._coordinates[rows], self._steps[rows] = coordinates, steps
        changes = np.diff(coordinates, axis=0)[joined]
        self._change = changes.std(axis=0) + np.float32(0.005)
        self._step_mean = steps[1:][joined].mean(axis=0)
        self._step_spread = steps[1:][joined].std(axis=0) + np.float32(1e-4)
        width = coordinates.shape[1]
        self.network = OnlineMLP(
            len(LAGS) * width + 3, HIDDEN, width + 3, seed=self._seed
        )


@njit(cache=True)
def _near(
    positions: Array,
    rotations: Array,
    local: Array,
    before: int,
    row: int,
    way: float,
    cosine: float,
) -> bool:
    """Whether no bone has jumped between two rows of the track."""
    square, dot = 0.0, 0.0
    for i in range(3):
        square += (positions[row, i] - positions[before, i]) ** 2
    for i in range(4):
        dot += rotations[row, i] * rotations[before, i]
    if square > way * way or abs(dot) < cosine:
        return False
    for bone in range(local.shape[1]):
        dot = 0.0
        for i in range(4):
            dot += local[row, bone, i] * local[before, bone, i]
        if abs(dot) < cosine:
            return False
    return True


@njit(cache=True)
def _batch_gradient(
    coordinates: Array,
    steps: Array,
    run: Array,
    lags: Array,
    oldest: int,
    choices: int,
    change: Array,
    step_mean: Array,
    step_spread: Array,
    net: Weights,
    slopes: Weights,
    shares: Array,
    noise: Array,
) -> float:
    """Mean squared error of a batch; `slopes` is filled with its gradient times 10.

    Rows whose earlier frames or next one are missing are left out; NaN where none is
    left.

    Args:
        coordinates: Of the poses kept, a ring. Shape (K, C).
        steps: The root's steps into them. Shape (K, 3).
        run: How many frames there are since the last cut. Shape (K,).
        lags: How many frames back the inputs reach, (L,).
        oldest: The first frame that may be chosen.
        choices: How many frames may be chosen.
        change: Spread of the coordinates' change in a frame, (C,).
        step_mean: Mean of the steps, (3,).
        step_spread: Spread of the steps, (3,).
        net: The network.
        slopes: Its gradient, filled.
        shares: Random numbers of 0 to 1, (2 N,): which frames, and the size of pushes.
        noise: Normal random numbers, (N, C + L C + 3).
    """
    kept, width = coordinates.shape
    count, size, lagged = 0, len(noise), len(lags) * width
    x = np.empty((size, lagged + 3), np.float32)
    goal = np.empty((size, width + 3), np.float32)
    for n in range(size):
        row = (oldest + int(shares[n] * choices)) % kept
        after = (row + 1) % kept
        if run[after] <= lags[-1] + 1:
            continue
        far = np.float32(PUSH * shares[size + n])
        for j in range(width):
            now, push = coordinates[row, j], far * noise[n, j]
            for k in range(len(lags)):
                at = k * width + j
                shake = np.float32(0.1 * PUSH) * noise[n, width + at]
                x[count, at] = coordinates[(row - lags[k]) % kept, j] + push + shake
            moved = coordinates[after, j] - now - np.float32(PULL) * push
            goal[count, j] = moved / change[j]
        for j in range(3):
            step = (steps[row, j] - step_mean[j]) / step_spread[j]
            x[count, lagged + j] = (
                step + np.float32(PUSH) * noise[n, width + lagged + j]
            )
            goal[count, width + j] = (steps[after, j] - step_mean[j]) / step_spread[j]
        count += 1
    if count == 0:
        return np.nan
    x, goal = x[:count], goal[:count]
    first, second, y = forward(x, net.w1, net.b1, net.w2, net.b2, net.w3, net.b3)
    dy, total = y - goal, 0.0
    for n in range(count):
        for j in range(width + 3):
            total += dy[n, j] * dy[n, j]
    dy *= np.float32(20.0 / dy.size)
    slopes_of(net, x, first, second, dy, slopes)
    return total / dy.size
