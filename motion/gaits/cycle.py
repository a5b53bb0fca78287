"""Extract one periodic, smooth gait cycle from a captured clip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.operations import heading, transform, unbent
from ambulo.motion.rotations import quat_about_mean, quat_from_rotvec, quat_multiply
from ambulo.motion.skeleton import Skeleton

PHASES = 512
"""Number of samples of a cycle."""

HARMONICS = 6
"""Number of harmonics kept, up to about 5.5 Hz for a walk: higher ones are capture noise
that would destabilise the body."""

MOVES, HARDLY = 0.1, 0.4
"""A clip moves if its root has this speed, or its joints relative to the root in the mean,
[m/s]; people who stand and talk have 0.01 to 0.09. A cycle hardly moves below the second
fraction of the clip's speed: of 60 CMU clips, cycles of gaits have 0.85 to 1.4 of it, standing
parts less than 0.35."""

OPEN = 0.6
"""Largest distance from the start at the end of a cycle, over its own movement."""

TRAVELS, ASIDE, BENDS = 0.1, np.deg2rad(3.0), np.deg2rad(7.0)
"""A cycle that travels less than the first, [m], has no direction; a straight one deviates from
+X and turns by less than the others, [rad]: straight walks of 20 people deviate by up to 2.6
degrees from their clip, and turn by up to 5.9."""

VELOCITY_WEIGHT = 0.15
"""Weight of joint velocities, [s], relative to joint positions in the closure of a cycle."""


@dataclass(frozen=True, eq=False)
class Cycle:
    """A gait cycle: N samples at equal phases, which repeat one stride further on."""

    skeleton: Skeleton
    """The skeleton, J joints; it walks along +X."""
    period: float
    """Duration of the cycle, [s]."""
    stride: Floats
    """Displacement of the root in one cycle, [m]. Shape (3,), z = 0."""
    root_positions: Floats
    """Root, [m]. Shape (N, 3); the sample after the last is the first plus `stride`."""
    rotations: Floats
    """Local rotations wxyz. Shape (N, J, 4)."""

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.rotations)

    @property
    def fps(self) -> float:
        """Samples per second, [Hz]."""
        return len(self) / self.period

    @property
    def speed(self) -> float:
        """Mean forward speed, [m/s]."""
        return float(self.stride[0]) / self.period

    def motion(self, cycles: int = 1) -> Motion:
        """Return the cycle, repeated `cycles` times, as a motion."""
        steps = np.arange(cycles)[:, None, None] * self.stride
        return Motion(
            self.skeleton,
            self.fps,
            (self.root_positions + steps).reshape(-1, 3),
            np.tile(self.rotations, (cycles, 1, 1)),
            name="cycle",
        )

    @property
    def progress(self) -> Floats:
        """Displacement of a uniform walk since the first sample, [m]. Shape (N, 3)."""
        return np.arange(len(self))[:, None] / len(self) * self.stride

    def kinematics(self) -> tuple[Floats, Floats]:
        """World positions (N, J, 3), [m], and orientations (N, J, 4) of all joints."""
        return forward_kinematics(self.skeleton, self.root_positions, self.rotations)

    def lengthened(self, change: Floats) -> Cycle:
        """Return the cycle with a stride that is longer by `change` (3,), [m]."""
        fraction = np.arange(len(self))[:, None] / len(self)
        root = self.root_positions + fraction * change
        return replace(self, root_positions=root, stride=self.stride + change)


def along_x(motion: Motion) -> Motion:
    """`motion` rotated and moved to start at the origin and travel along +X.

    A clip that travels less than 0.2 m is rotated by its mean heading instead.
    """
    displacement = motion.root_positions[-1] - motion.root_positions[0]
    yaw = np.arctan2(displacement[1], displacement[0])
    if np.hypot(displacement[0], displacement[1]) < 0.2:
        headings = heading(motion)
        yaw = np.arctan2(np.sin(headings).mean(), np.cos(headings).mean())
    turned = transform(motion, yaw=-float(yaw))
    return transform(turned, shift=-turned.root_positions[0] * [1.0, 1.0, 0.0])


def find_cycle(
    motion: Motion, shortest: float = 0.5, longest: float = 1.6, *, moving: bool = False
) -> slice:
    """Frames of the cycle that closes best: start to one past its last frame.

    Of all pairs of frames `shortest` to `longest` apart, [s], that with the least mean
    distance of joint positions (the root's position and travel removed) plus 0.15 s times
    that of their velocities.

    Args:
        motion: The clip.
        shortest: Shortest cycle, [s].
        longest: Longest cycle, [s].
        moving: Only cycles that move if the clip does, as in `check_cycle`; the best of all if
            there is none.

    Raises:
        MotionError: The motion is shorter than the shortest cycle.
    """
    low, high = (round(seconds * motion.fps) for seconds in (shortest, longest))
    if len(motion) <= low + 2:
        raise MotionError(
            f"{motion.label}: {motion.duration:.2f} s hold no cycle of "
            f"{shortest} s; give a longer clip"
        )
    features = _features(motion)
    paths = [np.r_[0.0, np.cumsum(speeds)] for speeds in _speeds(motion)]
    best, result = np.inf, slice(0, len(motion))
    for length in range(low, min(high, len(motion) - 2) + 1):
        costs = np.linalg.norm(features[length:] - features[:-length], axis=1)
        if moving:
            moves = [(path[length:-1] - path[: -length - 1]) / length for path in paths]
            still = _hardly(moves, [path[-1] / len(motion) for path in paths])
            costs = np.where(still, np.inf, costs)
        start = int(np.argmin(costs))
        if costs[start] < best:
            best, result = float(costs[start]), slice(start, start + length)
    return result


def check_cycle(motion: Motion, frames: slice, first: int = 0, finer: int = 1) -> None:
    """Check that a cycle moves if its clip does, and is closed.

    Mean speeds over 0.1 s are compared: of the root in space, and of the joints relative to it.
    In a standing clip any part is a cycle.

    Args:
        motion: The clip.
        frames: The cycle's frames.
        first: The frame of its file at which the clip begins.
        finer: Frames of the clip for one of its file.

    Raises:
        MotionError: The clip moves, but its cycle hardly does; or the cycle is not closed.
    """
    speeds = _speeds(motion)
    whole = [float(one.mean()) for one in speeds]
    part = [float(one[frames].mean()) for one in speeds]
    where = _in_file(frames, first, finer)
    if max(whole) < MOVES:
        return
    if not _hardly(part, whole):
        gap = _gap(motion, frames)
        if gap <= OPEN:
            return
        raise MotionError(
            f"{motion.label}: its movement does not repeat: the cycle that closes best "
            f"(frames {where}) misses its beginning by {gap:.0%} of its own movement "
            f"(gaits: under {OPEN:.0%}); choose a gait with --frames A:B, or follow the clip "
            "as it is with `ambulo fit`"
        )
    raise MotionError(
        f"{motion.label}: root and joints move at {whole[0]:.2f} and {whole[1]:.2f} m/s on "
        f"the whole, but at {part[0]:.2f} and {part[1]:.2f} m/s in the cycle that closes best "
        f"(frames {where}): the body stands there. {_other_cycle(motion, first, finer)}; "
        "follow a movement that is no cycle with `ambulo fit`; or allow standing with "
        "--standing-reference (environment.standing_reference)"
    )


def _in_file(frames: slice, first: int, finer: int) -> str:
    """Frames of a clip as those of its file, "A:B"."""
    return f"{first + frames.start // finer}:{first - (-frames.stop // finer)}"


def _other_cycle(motion: Motion, first: int, finer: int) -> str:
    """Describe the position of a cycle that moves."""
    other = find_cycle(motion, moving=True)
    speeds = _speeds(motion)
    hardly = _hardly([one[other].mean() for one in speeds], [s.mean() for s in speeds])
    if hardly or _gap(motion, other) > OPEN:
        return "Cut it to its gait, if it has one, with --frames A:B"
    around = round(0.1 * motion.fps)
    wide = slice(max(0, other.start - around), min(len(motion), other.stop + around))
    return f"--frames {_in_file(wide, first, finer)} holds a cycle that moves"


def straightened(motion: Motion, frames: slice) -> Motion:
    """`motion` with the cycle `frames` going straight along +X.

    A cycle that turns, or travels in another direction than its clip, would slide when its path
    is straightened: its frames are rotated with the path. A straight cycle is unchanged.
    """
    start, stop = frames.start, min(frames.stop, len(motion) - 1)
    step = motion.root_positions[stop] - motion.root_positions[start]
    if np.hypot(step[0], step[1]) < TRAVELS:
        return motion
    yaw = np.unwrap(heading(motion))
    bend = float(yaw[stop] - yaw[start])
    aside = float(np.arctan2(step[1], step[0]))
    if abs(aside) < ASIDE and abs(bend) < BENDS:
        return motion
    fraction = np.clip((np.arange(len(motion)) - start) / (stop - start), 0.0, 1.0)
    return unbent(motion, -aside - bend * (fraction - 0.5))


def _features(motion: Motion) -> Floats:
    """Joint positions relative to the root, [m], and weighted velocities. Shape (T, n)."""
    still = np.zeros_like(motion.root_positions)
    places, _ = forward_kinematics(motion.skeleton, still, motion.rotations)
    rates = VELOCITY_WEIGHT * np.gradient(places, 1.0 / motion.fps, axis=0)
    return np.concatenate([places, rates], axis=-1).reshape(len(motion), -1)


def _gap(motion: Motion, frames: slice) -> float:
    """Distance between the ends of a cycle, over its own movement."""
    features = _features(motion)
    own = features[frames]
    spread = np.sqrt(np.square(own - own.mean(axis=0)).sum(axis=1).mean())
    stop = min(frames.stop, len(features) - 1)
    return float(np.linalg.norm(features[stop] - features[frames.start]) / spread)


def _speeds(motion: Motion) -> tuple[Floats, Floats]:
    """Speeds of the root, and mean joint speeds relative to it, [m/s]. Two of shape (T,)."""
    window = max(1, min(round(0.1 * motion.fps), len(motion) // 2))
    still = np.zeros_like(motion.root_positions)
    places, _ = forward_kinematics(motion.skeleton, still, motion.rotations)
    rows = np.arange(len(motion))
    before = np.clip(rows - window // 2, 0, len(motion) - 1 - window)
    after = before + window

    def speed(path: Floats) -> Floats:
        steps: Floats = np.linalg.norm(path[after] - path[before], axis=-1)
        return steps * (motion.fps / window)

    return speed(motion.root_positions), speed(places).mean(axis=1)


def _hardly(part: Sequence[Floats | float], whole: Sequence[float]) -> Bools:
    """Whether a part hardly moves although the whole does, by root or by joints."""
    found = [
        np.asarray(own) < HARDLY * all_
        for own, all_ in zip(part, whole, strict=True)
        if all_ >= MOVES
    ]
    return np.any(found, axis=0) if found else np.zeros(np.shape(part[0]), dtype=bool)


def periodic(
    motion: Motion, frames: slice, harmonics: int = HARMONICS, phases: int = PHASES
) -> Cycle:
    """The cycle in `frames` of a motion along +X, made seamless and smooth.

    Root position and local rotations (as rotation vectors about each joint's mean) lose their
    linear drift over the cycle, keep `harmonics` harmonics, and are resampled at `phases` equal
    phases. The forward drift of the root is the stride.
    """
    start, stop = frames.start, frames.stop
    count = stop - start
    if stop >= len(motion) or harmonics >= count // 2:
        raise MotionError(
            f"{motion.label}: a cycle of {count} frames with {harmonics} "
            "harmonics does not lie in it"
        )
    period = count / motion.fps
    root = motion.root_positions[start : stop + 1]
    stride = (root[-1] - root[0]) * [1.0, 0.0, 0.0]
    mean, turns = quat_about_mean(motion.rotations[start : stop + 1])
    phase = np.arange(phases) / phases
    smooth_root = resynthesized(_closed(root), harmonics, phases)
    smooth_root += phase[:, None] * stride
    smooth = resynthesized(_closed(turns), harmonics, phases)
    rotations = quat_multiply(mean[None], quat_from_rotvec(smooth))
    smooth_root = smooth_root - smooth_root[0] * [1.0, 0.0, 0.0]
    smooth_root[:, 1] -= smooth_root[:, 1].mean()
    return Cycle(motion.skeleton, period, stride, smooth_root, rotations)


def resynthesized(values: Floats, harmonics: int, phases: int) -> Floats:
    """The first `harmonics` of periodic `values` (n, ...) at `phases` equal phases."""
    spectrum = np.fft.rfft(values, axis=0)[: harmonics + 1]
    return np.asarray(np.fft.irfft(spectrum, n=phases, axis=0) * (phases / len(values)))


def fourier_waves(phases: int, harmonics: int) -> Floats:
    """A constant, then cosine and sine of each harmonic. Shape (phases, 2 H + 1)."""
    angle = 2.0 * np.pi * np.arange(phases) / phases
    waves = [np.ones(phases)]
    for k in range(1, harmonics + 1):
        waves += [np.cos(k * angle), np.sin(k * angle)]
    return np.stack(waves, axis=1)


def derivative(values: Floats, period: float) -> Floats:
    """Time derivative of periodic samples (N, ...), by their spectrum."""
    spectrum = np.fft.rfft(values, axis=0)
    rates = 2j * np.pi * np.arange(len(spectrum)) / period
    rates = rates.reshape(-1, *(1,) * (values.ndim - 1))
    return np.asarray(np.fft.irfft(spectrum * rates, n=len(values), axis=0))


def body_velocities(cycle: Cycle) -> tuple[Floats, Floats]:
    """Root velocity in the world (N, 3), [m/s], and local angular velocities (N, J, 3).

    Angular velocities are relative to the parent, in the joint's own frame, [rad/s].
    """
    _, turns = quat_about_mean(cycle.rotations)
    angular = rotvec_velocity(turns, derivative(turns, cycle.period))
    linear = derivative(cycle.root_positions - cycle.progress, cycle.period)
    return linear + cycle.stride / cycle.period, angular


def rotvec_velocity(turns: Floats, rates: Floats) -> Floats:
    """Angular velocity, in its own frame, of exp(turns) changing at `rates`.

    All shapes are (..., 3); `turns` are rotation vectors and `rates` their derivatives.
    The right Jacobian of SO(3) (G. Chirikjian, Stochastic Models, Information Theory, and
    Lie Groups 2, 2012): I - (1 - cos t)/t^2 [v] + (t - sin t)/t^3 [v]^2.
    """
    angle = np.linalg.norm(turns, axis=-1, keepdims=True)
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    first = np.where(small, 0.5, (1.0 - np.cos(safe)) / safe**2)
    second = np.where(small, 1.0 / 6.0, (safe - np.sin(safe)) / safe**3)
    once = np.cross(turns, rates)
    return rates - first * once + second * np.cross(turns, once)


def _closed(values: NDArray[np.float64]) -> Floats:
    """`values` (n + 1, ...) without their linear drift from first to last; (n, ...)."""
    fraction = np.linspace(-0.5, 0.5, len(values)).reshape(
        -1, *(1,) * (values.ndim - 1)
    )
    return np.asarray((values - fraction * (values[-1] - values[0]))[:-1])
