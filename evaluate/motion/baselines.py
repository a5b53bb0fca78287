"""Predictors without a network, which every MotionNN is held against.

All see the same known frames of the same windows. What has numbers to fit is fitted on
training clips, with its strength chosen on validation clips.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import minimize_scalar

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.evaluate.motion.metrics import (
    HORIZONS_MS,
    horizon_frames,
    joint_distance_mm,
)
from ambulo.evaluate.motion.windows import (
    BodyPoses,
    EvalClip,
    EvalData,
    Heading,
    WindowPlan,
    Windows,
    cut_windows,
    differences,
    poses_of,
)
from ambulo.motion import human23

STRENGTHS = tuple(10.0**k for k in range(-5, 4))
"""RidgeMap strengths that are tried, for features and errors of variance one."""
LEAST_SPREAD = 1e-4
"""A feature that spreads less stands still: it is not blown up."""
BASELINES = {
    "zero_velocity": "the last known pose",
    "constant_velocity": "joints and root go on turning and moving",
    "constant_velocity_xyz": "joints go straight on, bones of any length",
    "damped_velocity": "constant velocity with a fitted damping",
    "ridge": "ridge regression of pose displacements",
    "ridge_xyz": "ridge regression of joint displacements",
}
"""Baselines by name."""
SIMPLE = ("zero_velocity", "constant_velocity", "constant_velocity_xyz")
"""Those without numbers to fit."""
DAMPING_WINDOWS = 400
"""Training windows that the damping is fitted on."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """Prediction of the F frames after the known ones."""

    world: Floats
    """Major joints in the world, [m]. Shape (B, F, 17, 3)."""
    local: Floats
    """Major joints without the root's motion, [m]. Shape (B, F, 17, 3)."""
    poses: BodyPoses | None = None
    """Poses (B, F); None of a predictor that knows only points."""
    velocities: Floats | None = None
    """Velocities (B, F, 56) as `human23.velocities` has them; None without poses."""


Predictor = Callable[[BodyPoses, int, float], Forecast]
"""Known poses (B, H), frames to predict, frames a second -> forecast."""


def forecast_of(
    past: BodyPoses, positions: Floats, fps: float, velocities: Floats | None = None
) -> Forecast:
    """The forecast of poses (B, F, 56); velocities from the poses unless they are given."""
    poses = poses_of(positions)
    if velocities is None:
        joined = np.concatenate([past.positions[:, -1:], positions], axis=1)
        velocities = np.asarray(human23.velocities(joined, fps))[:, 1:]
    return Forecast(poses.world, poses.local, poses, velocities)


def zero_velocity(past: BodyPoses, steps: int, fps: float) -> Forecast:
    """The last known pose for ever."""
    return forecast_of(past, np.repeat(past.positions[:, -1:], steps, axis=1), fps)


def damped_velocity(
    past: BodyPoses, steps: int, fps: float, damping: float
) -> Forecast:
    """Joints and root go on turning and moving; a step is `damping` times the one before."""
    last = past.positions[:, -1]
    step = differences(past.positions[:, -2], last)
    gone = np.cumsum(damping ** np.arange(1.0, steps + 1.0))
    # One axis throughout: k steps about it are one step k times as large.
    moved = human23.integrate(last[:, None], step[:, None] * gone[:, None], 1.0)
    return forecast_of(past, np.asarray(moved), fps)


constant_velocity = partial(damped_velocity, damping=1.0)
"""Every joint and the root go on turning and moving as in the last known step."""


def constant_velocity_xyz(past: BodyPoses, steps: int, fps: float) -> Forecast:
    """Every joint goes straight on, without care for the lengths of bones."""
    ahead = np.arange(1.0, steps + 1.0)[:, None, None]

    def extended(points: Floats) -> Floats:
        return points[:, -1:] + ahead * (points[:, -1:] - points[:, -2:-1])

    return Forecast(extended(past.world), extended(past.local))


def fit_damping(some: Windows) -> float:
    """The damping with the least mean position error over the horizons."""
    frames = [k - 1 for k in horizon_frames(HORIZONS_MS, some.fps) if k <= some.steps]
    frames = frames or [some.steps - 1]

    def error(damping: float) -> float:
        found = damped_velocity(some.past, some.steps, some.fps, damping)
        gap = joint_distance_mm(found.local[:, frames], some.future.local[:, frames])
        return float(gap.mean())

    best = minimize_scalar(
        error, bounds=(0.0, 1.0), method="bounded", options={"xatol": 0.01}
    )
    return float(best.x)


@dataclass(frozen=True, eq=False)
class RidgeMap:
    """A fitted linear map from features (N, D) to targets (N, K)."""

    feature_mean: Floats
    """Shape (D,)."""
    target_mean: Floats
    """Shape (K,)."""
    weights: Floats
    """Shape (D, K)."""
    strength: float
    """Chosen from `STRENGTHS`."""

    def __call__(self, features: Floats) -> Floats:
        """Predicted targets (N, K)."""
        return (features - self.feature_mean) @ self.weights + self.target_mean


class _Moments:
    """Sums over samples that a linear regression needs, so that no sample is kept."""

    def __init__(self) -> None:
        self.count = 0
        self._sums: list[Floats] = []

    def add(self, features: Floats, targets: Floats) -> None:
        """More samples (N, D) and (N, K)."""
        found = (
            features.sum(axis=0),
            targets.sum(axis=0),
            features.T @ features,
            features.T @ targets,
            (targets**2).sum(axis=0),
        )
        if not self._sums:
            self._sums = list(found)
        else:
            for total, more in zip(self._sums, found, strict=True):
                np.add(total, more, out=total)
        self.count += len(features)

    def means(self) -> tuple[Floats, Floats]:
        """Means of features (D,) and targets (K,)."""
        x, y, *_ = self._sums
        return x / self.count, y / self.count

    def about(self, x0: Floats, y0: Floats) -> tuple[Floats, Floats, float]:
        """Sums of products of features, of both, and of targets' squares, about a point.

        Shapes (D, D), (D, K) and one number.
        """
        x, y, xx, xy, yy = self._sums
        n = self.count
        across = np.outer(x, x0)
        return (
            xx - across - across.T + n * np.outer(x0, x0),
            xy - np.outer(x, y0) - np.outer(x0, y) + n * np.outer(x0, y0),
            float((yy - 2.0 * y * y0 + n * y0**2).sum()),
        )


def _ridge(train: _Moments, validation: _Moments) -> RidgeMap:
    """The ridge regression whose strength has the least squared error on `validation`.

    In the basis of the features' principal axes every strength only scales rows, so one
    eigendecomposition and a few products serve all of them.
    """
    x, y = train.means()
    xx, xy, _ = train.about(x, y)
    spread = np.sqrt(np.maximum(np.diag(xx), 0.0) / train.count)
    scale = 1.0 / np.maximum(spread, LEAST_SPREAD)
    values, vectors = np.linalg.eigh(scale[:, None] * xx * scale)
    values, vectors = np.maximum(values, 0.0), scale[:, None] * vectors
    turned = vectors.T @ xy
    gram, cross, squares = validation.about(x, y)
    gram = (vectors.T @ gram @ vectors) * (turned @ turned.T)
    cross = ((vectors.T @ cross) * turned).sum(axis=1)

    def error(strength: float) -> float:
        shrunk = 1.0 / (values + strength * train.count)
        return float(shrunk @ gram @ shrunk - 2.0 * shrunk @ cross + squares)

    best = min(STRENGTHS, key=error)
    weights = vectors @ (turned / (values + best * train.count)[:, None])
    return RidgeMap(x, y, weights, best)


Pairs = Callable[[Windows], tuple[Floats, Floats]]
"""Windows -> features (N, D) and targets (N, K) of a regression."""


def fit_ridges(
    train: Iterable[Windows], validation: Iterable[Windows], pairs: Sequence[Pairs]
) -> list[RidgeMap]:
    """A ridge regression for each of `pairs`; the strength with the least squared error.

    Closed form (Hoerl and Kennard 1970); features are centred, so that the constant is
    not shrunk, and have variance one, so that all are shrunk alike. Both sets of windows
    are gone through once.
    """
    sums = [(_Moments(), _Moments()) for _ in pairs]
    for part, windows_of_part in enumerate((train, validation)):
        for windows in windows_of_part:
            for moments, pair in zip(sums, pairs, strict=True):
                moments[part].add(*pair(windows))
    if not all(moments.count for both in sums for moments in both):
        raise MotionError("no clip is long enough to fit or to choose a ridge by")
    return [_ridge(*both) for both in sums]


@dataclass(frozen=True)
class Space:
    """Numbers that ridge regression predicts displacements of: poses, or joints as points."""

    read: Callable[[BodyPoses, Heading], Floats]
    """The numbers of poses (B, T) in a ground frame. Shape (B, T, ...)."""
    minus: Callable[[Floats, Floats], Floats]
    """Displacement to the first from the second."""
    plus: Callable[[Floats, Floats], Floats]
    """Numbers, moved by a displacement."""

    def features(self, known: Floats) -> Floats:
        """The last of known numbers (B, H, ...), and those before relative to them. (B, D)."""
        last = known[:, -1:]
        before = self.minus(known[:, :-1], last)
        return np.concatenate([last, before], axis=1).reshape(len(known), -1)

    def pairs(self, windows: Windows) -> tuple[Floats, Floats]:
        """Features of what is known, and displacements to what came later."""
        heading = Heading.of(windows.past.positions[:, -1])
        past = self.read(windows.past, heading)
        moved = self.minus(self.read(windows.future, heading), past[:, -1:])
        return self.features(past), moved.reshape(len(moved), -1)

    def predict(
        self, ridge: RidgeMap, past: BodyPoses, heading: Heading, steps: int
    ) -> Floats:
        """The next `steps` of a regression of `pairs`, in the ground frame."""
        known = self.read(past, heading)
        moved = ridge(self.features(known)).reshape(len(known), -1, *known.shape[2:])
        if steps > moved.shape[1]:
            raise ValueError(f"fitted for {moved.shape[1]} frames, asked for {steps}")
        return np.asarray(self.plus(known[:, -1:], moved[:, :steps]))


POSE = Space(
    lambda poses, heading: heading.inside(poses.positions),
    lambda after, before: differences(before, after),
    lambda last, moved: human23.integrate(last, moved, 1.0),
)
"""Displacements on SO(3)."""
LOCAL = Space(lambda poses, heading: poses.local, np.subtract, np.add)
"""Joints without the root's motion."""
WORLD = Space(
    lambda poses, heading: heading.points_inside(poses.world), np.subtract, np.add
)
"""Joints in the ground frame."""


def ridge_pose(past: BodyPoses, steps: int, fps: float, ridge: RidgeMap) -> Forecast:
    """Ridge regression of pose displacements, integrated from the last known pose."""
    heading = Heading.of(past.positions[:, -1])
    found = POSE.predict(ridge, past, heading, steps)
    return forecast_of(past, heading.outside(found), fps)


def ridge_xyz(
    past: BodyPoses, steps: int, fps: float, local: RidgeMap, world: RidgeMap
) -> Forecast:
    """Ridge regression of joint displacements, with and without the root's motion."""
    heading = Heading.of(past.positions[:, -1])
    places = heading.points_outside(WORLD.predict(world, past, heading, steps))
    return Forecast(places, LOCAL.predict(local, past, heading, steps))


@dataclass(frozen=True)
class Baselines:
    """All baselines, ready to predict."""

    predictors: Mapping[str, Predictor]
    """By name, in the order of the tables."""
    fitted: Mapping[str, float]
    """The chosen damping and ridge strengths."""


def fit_baselines(
    data: EvalData,
    plan: WindowPlan,
    steps: int,
    names: Collection[str] = BASELINES,
    damping: float | None = None,
) -> Baselines:
    """All baselines for `steps` frames, or those of `SIMPLE` alone if no other is in `names`.

    `damping` of an earlier fit is used instead of a new one. `MotionError` when no training
    clip is long enough.
    """
    simple: dict[str, Predictor] = {
        "zero_velocity": zero_velocity,
        "constant_velocity": constant_velocity,
        "constant_velocity_xyz": constant_velocity_xyz,
    }
    if set(names) <= set(SIMPLE):
        return Baselines(simple, {})

    def windows(clips: Sequence[EvalClip]) -> Iterator[Windows]:
        for clip in clips:
            if len(clip.positions) > plan.history + steps:
                yield cut_windows([clip], plan, steps)

    some = cut_windows(data.train, plan, steps, limit=DAMPING_WINDOWS)
    chosen = fit_damping(some) if damping is None else damping
    pose, local, world = fit_ridges(
        windows(data.train),
        windows(data.validation),
        (POSE.pairs, LOCAL.pairs, WORLD.pairs),
    )
    return Baselines(
        {
            **simple,
            "damped_velocity": partial(damped_velocity, damping=chosen),
            "ridge": partial(ridge_pose, ridge=pose),
            "ridge_xyz": partial(ridge_xyz, local=local, world=world),
        },
        {
            "damping": chosen,
            "ridge_strength": pose.strength,
            "ridge_xyz_strength": local.strength,
            "ridge_xyz_world_strength": world.strength,
        },
    )
