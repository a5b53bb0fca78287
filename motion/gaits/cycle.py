"""Extract one periodic, smooth gait cycle from a captured clip."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.operations import heading, transform
from ambulo.motion.rotations import quat_about_mean, quat_from_rotvec, quat_multiply
from ambulo.motion.skeleton import Skeleton

PHASES = 512
"""Samples of a cycle."""

HARMONICS = 6
"""Number of harmonics kept, up to about 5.5 Hz for a walk: higher ones are capture noise
that would destabilise the body."""

MOVES, HARDLY = 0.2, 0.4
"""A clip moves if its root does at this speed, [m/s]; a cycle hardly does if its root moves
at less than this fraction of the clip's speed. Of 60 CMU clips, cycles of gaits move at 0.85
to 1.4 of it, standing parts at less than 0.35."""

VELOCITY_WEIGHT = 0.15
"""Weight of joint velocities, [s], beside joint positions where a cycle closes."""


@dataclass(frozen=True, eq=False)
class Cycle:
    """A gait cycle: N samples at equal phases, which then repeat one stride further on."""

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
        """Displacement of an even walk since the first sample, [m]. Shape (N, 3)."""
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
    """`motion` turned and moved so that it starts over the origin and travels along +X.

    A clip that travels less than 0.2 m is turned by its mean heading instead.
    """
    displacement = motion.root_positions[-1] - motion.root_positions[0]
    yaw = np.arctan2(displacement[1], displacement[0])
    if np.hypot(displacement[0], displacement[1]) < 0.2:
        headings = heading(motion)
        yaw = np.arctan2(np.sin(headings).mean(), np.cos(headings).mean())
    turned = transform(motion, yaw=-float(yaw))
    return transform(turned, shift=-turned.root_positions[0] * [1.0, 1.0, 0.0])


def find_cycle(motion: Motion, shortest: float = 0.5, longest: float = 1.6) -> slice:
    """Frames of the cycle that closes best: start to one past its last frame.

    Of all pairs of frames `shortest` to `longest` apart, [s], that with the least mean
    distance of joint positions (the root's position and travel removed) plus 0.15 s times
    that of their velocities.

    Raises:
        MotionError: If the motion is shorter than the shortest cycle.
    """
    low, high = (round(seconds * motion.fps) for seconds in (shortest, longest))
    if len(motion) <= low + 2:
        raise MotionError(
            f"{motion.label}: {motion.duration:.2f} s hold no cycle of "
            f"{shortest} s; give a longer clip"
        )
    still = np.zeros_like(motion.root_positions)
    places, _ = forward_kinematics(motion.skeleton, still, motion.rotations)
    features = np.concatenate(
        [places, VELOCITY_WEIGHT * np.gradient(places, 1.0 / motion.fps, axis=0)],
        axis=-1,
    ).reshape(len(motion), -1)
    best, result = np.inf, slice(0, len(motion))
    for length in range(low, min(high, len(motion) - 2) + 1):
        costs = np.linalg.norm(features[length:] - features[:-length], axis=1)
        start = int(np.argmin(costs))
        if costs[start] < best:
            best, result = float(costs[start]), slice(start, start + length)
    return result


def check_moves(motion: Motion, frames: slice) -> None:
    """Check that a cycle moves if its clip does: no pause of it, no standing part.

    Compared are mean speeds of the root in space, over 0.1 s.

    Raises:
        MotionError: The clip moves on the whole, its cycle `frames` hardly.
    """
    window = max(1, min(round(0.1 * motion.fps), len(motion) // 2))
    steps = motion.root_positions[window:] - motion.root_positions[:-window]
    speeds = np.linalg.norm(steps, axis=1) * motion.fps / window
    last = max(frames.start + 1, frames.stop - window)
    whole, part = float(speeds.mean()), float(speeds[frames.start : last].mean())
    if whole >= MOVES and part < HARDLY * whole:
        start, stop = frames.start / motion.fps, frames.stop / motion.fps
        raise MotionError(
            f"{motion.label}: its root moves at {whole:.2f} m/s on the whole, but at "
            f"{part:.2f} m/s in the cycle that closes best ({start:.1f} to {stop:.1f} s): "
            "the body stands there. Cut the clip to its gait, or allow it "
            "with --standing-reference (environment.standing_reference)"
        )


def periodic(
    motion: Motion, frames: slice, harmonics: int = HARMONICS, phases: int = PHASES
) -> Cycle:
    """The cycle in `frames` of a motion along +X, made seamless and smooth.

    Root position and local rotations (as rotation vectors about each joint's mean) lose
    their linear drift over the cycle, keep `harmonics` harmonics, and are sampled anew at
    `phases` equal phases. The forward drift of the root is the stride.
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
    """Angular velocity in the turned frame of exp(turns) that changes at `rates`.

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
