"""Predict the next frame of a stream from the last few, and continue the stream without it.

Poses of one activity lie near a plane of few dimensions (principal components); a free run that
stays in it cannot drift into unseen poses. An MLP maps the coordinates of four earlier frames
and the root's last step to the change of the coordinates and the next step. In training the
inputs are pushed off the path and the targets remove a tenth of the offset, which makes the
walk attracting: without it a free run drifts away within seconds, with a full correction it
oscillates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Singles
from ambulo.motion.rotations import (
    mean_rotation,
    quat_conjugate,
    quat_from_rotvec,
    quat_from_yaw,
    quat_multiply,
    quat_rotate,
    quat_to_rotvec,
    yaw_of,
)
from ambulo.rig_server.frames import RigFrame
from ambulo.rig_server.layout import RigLayout
from ambulo.rig_server.network import OnlineMLP, checked_arrays

FRAMES, LAGS = 2048, (0, 2, 4, 8)
"""Newest frames in memory, 17 s at 120 Hz, and how many frames back the inputs reach."""
_WINDOW = np.arange(1, max(LAGS) + 2)
FIRST, EVERY, MIN_STEPS = 240, 2, 150
"""Frames after which learning begins, calls of `learn` per gradient step, and steps before free
runs are allowed."""
BATCH, HIDDEN = 32, 64
PUSH, PULL = 0.3, 0.1
"""Largest perturbation of the coordinates, in standard deviations (scaled uniformly), and
the fraction of it that the target removes."""
COMPONENTS, EXPLAINED, FLOOR = 6, 0.95, 0.1
"""Dimensions of the plane (a walk's first six hold 98.6 % of the variance, CMU 02_01), the
smallest fraction that it must explain, and the smallest spread of one over the first one's."""
HEIGHT_WEIGHT = 3.0
"""Weight of the root's height against rotations, [rad/m]."""
JUMP, JUMP_TURN = 0.5, 0.5
"""Displacement of the root, [m], or rotation of a bone, [rad], between frames from which the
stream has a cut."""
BLOCK, DRAWN = 64, 8
"""Frames projected at once, and batches drawn at once."""


@dataclass(frozen=True, eq=False)
class PosePlane:
    """The plane of a stream's poses; rotations are (..., B, 4), the root's in the world."""

    rest: Floats
    """Mean rotations wxyz; the root's is the reference for upright with yaw 0. Shape (B, 4)."""
    mean: Floats
    """Mean of the features. Shape (F,), F = 3 B + 1."""
    axes: Floats
    """Principal axes over their spreads, so that coordinates have spread 1. (F, K)."""
    back: Floats
    """Matrix from coordinates to features. Shape (K, F)."""

    def yaw(self, rotations: Floats) -> Floats:
        """Heading of the root relative to the reference, (..., B, 4) -> (...), [rad]."""
        turn = quat_multiply(rotations[..., 0, :], quat_conjugate(self.rest[0]))
        return yaw_of(turn)

    def features(self, positions: Floats, rotations: Floats) -> Floats:
        """Joint rotation vectors, tilt, weighted height of N frames. Shape (N, F)."""
        upright = rotations.copy()
        back = quat_from_yaw(-self.yaw(rotations))
        upright[:, 0] = quat_multiply(back, rotations[:, 0])
        turns = quat_to_rotvec(quat_multiply(quat_conjugate(self.rest), upright))
        turns = np.roll(turns, -1, axis=1).reshape(len(turns), -1)  # the root's last
        return np.concatenate([turns, HEIGHT_WEIGHT * positions[:, 2:]], axis=1)

    def place(self, positions: Floats, rotations: Floats) -> tuple[Floats, Floats]:
        """Coordinates (N, K), and the root's motion into each frame except the first.

        Forward and sideways, [m], and yaw, [rad], in the previous yaw frame. (N - 1, 3).
        """
        yaw = self.yaw(rotations)
        moved = quat_rotate(quat_from_yaw(-yaw[:-1]), np.diff(positions, axis=0))
        moved[:, 2] = np.angle(np.exp(1j * np.diff(yaw)))
        return (self.features(positions, rotations) - self.mean) @ self.axes, moved

    def poses(self, features: Floats, yaw: Floats) -> tuple[Floats, Floats]:
        """Heights (N,) [m] and rotations (N, B, 4) of features and headings (N,)."""
        turns = features[:, :-1].reshape(len(features), -1, 3)
        turned = quat_from_rotvec(np.roll(turns, 1, axis=1))
        rotations = quat_multiply(self.rest, turned)
        rotations[:, 0] = quat_multiply(quat_from_yaw(yaw), rotations[:, 0])
        return features[:, -1] / HEIGHT_WEIGHT, rotations


def pose_plane_of(positions: Floats, rotations: Floats) -> PosePlane:
    """Fit principal components to N >= 2 frames; the first one's root is the reference."""
    rest = mean_rotation(rotations)
    rest[0] = rotations[0, 0]
    blank = np.zeros(0)
    features = PosePlane(rest, blank, blank, blank).features(positions, rotations)
    values, vectors = np.linalg.eigh(np.cov(features.T, bias=True))
    values, vectors = values[::-1][:COMPONENTS], vectors[:, ::-1][:, :COMPONENTS]
    spread = np.sqrt(np.maximum(values, 0.0))
    spread = np.maximum(spread, max(FLOOR * spread[0], 1e-4))
    axes, back = vectors / spread, (vectors * spread).T
    return PosePlane(rest, features.mean(axis=0), axes, back)


class SequenceLearner:
    """Learns to predict the next frame of a stream; `run` continues the stream."""

    def __init__(self, layout: RigLayout, *, seed: int = 0) -> None:
        """A learner without any frames."""
        self.layout = layout
        self._positions = np.zeros((FRAMES, 3))
        self._rotations = np.zeros((FRAMES, len(layout.bones), 4))
        self._joined = np.zeros(FRAMES, np.bool_)  # no cut between it and the last one
        self._steps = np.zeros((FRAMES, 3), np.float32)
        self._rng = np.random.default_rng(seed)
        self._seed = seed
        self.seen = 0
        self._projected = 0  # frames with known runs and coordinates
        self._due = FIRST  # frame count at the next check of the plane
        self._calls = 0  # of `learn`
        self.plane: PosePlane | None = None
        self._use(np.ones(0), np.zeros(3), np.ones(3))

    def _use(self, *scales: Floats) -> None:
        """Reset for the spread of changes (K,), mean and spread of steps (3,)."""
        width, narrow = len(scales[0]), [values.astype(np.float32) for values in scales]
        self._change, self._step_mean, self._step_spread = narrow
        self._coordinates = np.zeros((FRAMES, width), np.float32)
        self.network = OnlineMLP(
            len(LAGS) * width + 3, HIDDEN, width + 3, seed=self._seed
        )
        self._batches: list[tuple[Singles, Singles]] = []

    def add(self, frame: RigFrame, *, follows: bool = True) -> None:
        """Add the next frame of the stream; not `follows` after a gap."""
        row = self.seen % FRAMES
        self._positions[row] = frame.root_position
        self._rotations[row] = frame.rotations
        self._rotations[row, 0] = frame.root_rotation
        self._joined[row] = follows
        self.seen += 1

    def learn(self) -> None:
        """One gradient step every `EVERY` calls; the plane is refitted at times."""
        if self.seen - self._projected >= BLOCK:
            self._project()
        if self.seen >= self._due:
            self._due = max(2 * self._due, self.seen + 1)
            self._fit()
        self._calls += 1
        if self._calls % EVERY or self.plane is None:
            return
        self._batches = self._batches or self._drawn()
        if self._batches:
            self.network.fit(*self._batches.pop())

    @property
    def ready(self) -> bool:
        """Whether enough frames were received, also since the last cut, for `run`."""
        if self.plane is None or self.network.steps < MIN_STEPS or not self.seen:
            return False
        self._project()
        return bool(self._joined[(self.seen - _WINDOW[:-1]) % FRAMES].all())

    def run(self, count: int) -> tuple[Floats, Floats]:
        """The next `count` frames; needs `ready`.

        Positions of the root (count, 3), [m], and rotations as of `PosePlane`.
        """
        plane = self.plane
        assert plane is not None
        rows = np.arange(self.seen - 1 - max(LAGS), self.seen) % FRAMES
        positions, rotations = self._positions[rows], self._rotations[rows]
        places, steps = plane.place(positions, rotations)
        history, step = list(places.astype(np.float32)), self._scaled(steps[-1])
        # The newest pose's offset from the plane fades out, so that nothing jumps.
        extra = plane.features(positions, rotations)[-1]
        extra -= plane.mean + history[-1] @ plane.back
        features = np.empty((count, len(plane.mean)))
        position, yaw = positions[-1].copy(), float(plane.yaw(rotations[-1]))
        path, yaws = np.empty((count, 3)), np.empty(count)
        for i in range(count):
            x = np.concatenate([*(history[-1 - lag] for lag in LAGS), step])[None]
            y = self.network.predict(x)[0]
            new = np.clip(history[-1] + y[:-3] * self._change, -4.0, 4.0)
            step = np.clip(y[-3:], -4.0, 4.0)
            history = [*history[1:], new]
            extra *= 0.95
            features[i] = plane.mean + new @ plane.back + extra
            ahead, aside, turn = step * self._step_spread + self._step_mean
            position[0] += np.cos(yaw) * ahead - np.sin(yaw) * aside
            position[1] += np.sin(yaw) * ahead + np.cos(yaw) * aside
            yaw += float(turn)
            path[i], yaws[i] = position, yaw
        path[:, 2], rotations = plane.poses(features, yaws)
        return path, rotations

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Copies of the learned state; the frames themselves are not stored."""
        if self.plane is None:
            return {}
        plane = self.plane
        return self.network.state() | {
            "reference": plane.rest[0], "mean_local": plane.rest[1:], "mean": plane.mean,
            "axes": plane.axes, "back": plane.back, "change": self._change,
            "step_mean": self._step_mean, "step_spread": self._step_spread,
        }  # fmt: skip

    def restore(self, state: dict[str, NDArray[np.generic]]) -> None:
        """Restore `state`; ValueError or KeyError if it does not fit."""
        if not state:
            return
        bones, width = len(self.layout.bones), len(state["change"])
        if not 1 <= width <= COMPONENTS:
            raise ValueError(f"change: expected 1 to {COMPONENTS} numbers")
        size = 3 * bones + 1
        shapes = {
            "reference": (4,), "mean_local": (bones - 1, 4), "mean": (size,),
            "axes": (size, width), "back": (width, size),
            "change": (width,), "step_mean": (3,), "step_spread": (3,),
        }  # fmt: skip
        arrays = checked_arrays(state, shapes).values()
        first, others, mean, axes, back, change, step_mean, spread = arrays
        rest = np.concatenate([first[None], others])
        if not (np.abs(np.linalg.norm(rest, axis=-1) - 1.0) < 0.5).all():
            raise ValueError("reference, mean_local: expected quaternions of length 1")
        self._use(change, step_mean, np.maximum(spread, 1e-4))
        self.network.restore(state)
        self.plane = PosePlane(rest, mean, axes, back)

    def _project(self) -> None:
        """Find runs, and coordinates if there is a plane, up to the newest frame."""
        first = max(self._projected, self.seen - FRAMES + 1)
        if first == self.seen:
            return
        rows = np.arange(first - 1, self.seen) % FRAMES
        positions, rotations = self._positions[rows], self._rotations[rows]
        near = np.linalg.norm(np.diff(positions, axis=0), axis=1) <= JUMP
        turned = np.abs(np.einsum("nbi,nbi->nb", rotations[1:], rotations[:-1]))
        near &= (turned >= np.cos(0.5 * JUMP_TURN)).all(axis=1)
        near[0] &= 0 < first == self._projected
        self._joined[rows[1:]] &= near
        if self.plane is not None:
            places, self._steps[rows[1:]] = self.plane.place(positions, rotations)
            self._coordinates[rows[1:]] = places[1:]
        self._projected = self.seen

    def _fit(self) -> None:
        """Fit the plane to the stored frames, unless the present one still fits."""
        self._project()
        rows = np.arange(max(0, self.seen - FRAMES), self.seen) % FRAMES
        positions, rotations = self._positions[rows], self._rotations[rows]
        if self.plane is not None:
            flat = self.plane.features(positions, rotations) - self.plane.mean
            lost = flat - flat @ self.plane.axes @ self.plane.back
            whole = len(flat) * flat.var(axis=0).sum()
            if np.square(lost).sum() <= (1.0 - EXPLAINED) * whole:
                return
        joined = self._joined[rows[1:]]
        if not joined.any():
            return
        self.plane = pose_plane_of(positions, rotations)
        places, steps = self.plane.place(positions, rotations)
        changes, near = np.diff(places, axis=0)[joined], steps[joined]
        self._use(changes.std(0) + 0.005, near.mean(0), near.std(0) + 1e-4)
        self._coordinates[rows], self._steps[rows[1:]] = places, steps

    def _drawn(self) -> list[tuple[Singles, Singles]]:
        """Inputs and targets of the next batches, from frames with neighbours in memory."""
        oldest = max(0, self.seen - FRAMES + max(LAGS))
        if self._projected - 1 <= oldest:
            return []
        rng, width = self._rng, len(self._change)
        at = rng.integers(oldest, self._projected - 1, DRAWN * BATCH)
        at = at[self._joined[(at[:, None] + 2 - _WINDOW) % FRAMES].all(axis=1)]
        count, now, after = len(at), at % FRAMES, (at + 1) % FRAMES
        push = PUSH * rng.random((count, 1)) * rng.standard_normal((count, width))
        shake = rng.standard_normal((count, len(LAGS), width))
        places = self._coordinates[(at[:, None] - np.array(LAGS)) % FRAMES]
        places = places + push[:, None] + 0.1 * PUSH * shake
        moved = self._coordinates[after] - self._coordinates[now] - PULL * push
        step = self._scaled(self._steps[now]) + PUSH * rng.standard_normal((count, 3))
        following = self._scaled(self._steps[after])
        x = np.hstack([places.reshape(count, len(LAGS) * width), step])
        goal = np.hstack([moved / self._change, following])
        x, goal = x.astype(np.float32), goal.astype(np.float32)
        return [(x[i : i + BATCH], goal[i : i + BATCH]) for i in range(0, count, BATCH)]

    def _scaled(self, steps: NDArray[np.floating]) -> Singles:
        """Steps (..., 3) in standard deviations."""
        return np.asarray((steps - self._step_mean) / self._step_spread, np.float32)
