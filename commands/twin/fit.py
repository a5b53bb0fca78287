"""Fit the numbers of a twin to measured roll-outs: pure functions."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.optimize import least_squares, minimize

from ambulo.commands.twin.measure import FreeWalks, WallWalks
from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import ConfigError
from ambulo.configs.twin import ContactRule, Envelope, Response, TwinConfig
from ambulo.envs.vr.body.twin_kernels import MEMORY, WANDER, follow
from ambulo.envs.vr.body.walker import Walker

WINDOW = 1.0
"""Width of the mean that takes the sway of the gait out of motions, [s]."""
STEADY = 1.5
"""Time after which a command has been settled into, [s]."""
SETTLED = 1.0
"""Time from the start, and before a fall, that is left out, [s]."""
AFTER = 2.0
"""Time after a contact in which falls are laid to it, [s]."""
DELAYS = range(0, MEMORY, 2)
"""Delays that are tried, [steps]."""
LEAST_FALLS = 5
"""Falls at the wall below which their growth with speed is not fitted."""
CHANNELS = ("speed", "side", "turn")


def fit_twin(walker: Walker, free: FreeWalks, wall: WallWalks) -> TwinConfig:
    """The twin of `walker` by its roll-outs.

    Raises:
        ConfigError: The walker falls too soon to be measured.
    """
    responses = {
        name: fit_response(free, channel, _still(walker.envelope, name))
        for channel, name in enumerate(CHANNELS)
    }
    return TwinConfig(
        walker=walker.name,
        character=walker.character,
        control_rate=walker.control_rate,
        envelope=walker.envelope,
        **responses,
        radius=fit_radius(wall),
        contact=fit_contact(wall),
        fall_rate=fall_rate(free),
    )


def simulated(command: Floats, dt: float, values: Floats, delay: int) -> Floats:
    """Motion (T, N) of a `Response` to commands (T, N) that begins with the first.

    `values`: gain, offset, lag, change; `delay` in steps.
    """
    gain, offset, lag, change = values
    late = np.concatenate([np.repeat(command[:1], delay, axis=0), command])
    out = np.empty((len(command), command.shape[1]))
    follow(gain * late[: len(command)] + offset, lag, change, dt, out)
    return out


def fit_response(free: FreeWalks, channel: int, still: bool) -> Response:
    """How one command becomes motion; `still`: it is always 0."""
    command, motion = free.command[..., channel], free.motion[..., channel]
    used = _used(free)
    measured = _smooth(motion, free.dt)
    if still:
        spread = float(measured[used].std())
        return Response(lag=1.0, change=1.0, noise=_wander(spread))

    def residual(values: Floats, delay: int) -> Floats:
        model = _smooth(simulated(command, free.dt, values, delay), free.dt)
        return np.asarray((model - measured)[used])

    span = float(np.ptp(command))
    low = [0.2, -0.5 * span, free.dt, 0.05 * span]
    high = [1.8, 0.5 * span, 3.0, 20.0 * span]
    fits = [
        (
            least_squares(
                residual, [1.0, 0.0, 0.5, span], args=(delay,), bounds=(low, high),
                x_scale=[1.0, span, 1.0, span], diff_step=1e-3,
            ),
            delay,
        )
        for delay in DELAYS
    ]  # fmt: skip
    best, delay = min(fits, key=lambda fit: float(fit[0].cost))
    gain, offset, lag, change = (float(v) for v in best.x)
    model = _smooth(simulated(command, free.dt, best.x, delay), free.dt)
    steady = used & _steady(command, free.dt)
    spread = float((model - measured)[steady if steady.any() else used].std())
    return Response(
        gain=round(gain, 4),
        offset=round(offset, 4),
        lag=round(lag, 4),
        change=round(change, 4),
        delay=round(delay * free.dt, 4),
        noise=_wander(spread),
    )


def fit_radius(wall: WallWalks) -> float:
    """Median distance from the wall at the first touch, [m]."""
    any_touch = wall.touched.any(axis=0)
    if not any_touch.any():
        raise ConfigError("fit-twin: no walker reached the wall")
    first = wall.touched.argmax(axis=0)
    gaps = wall.gap[first, np.arange(len(first))][any_touch]
    return round(float(np.median(gaps)), 4)


def fit_contact(wall: WallWalks) -> ContactRule:
    """The rate of falls by the speed into the wall: maximum likelihood."""
    exposed, into, falls = _exposure(wall)
    time = exposed.sum() * wall.dt
    count = int(falls.sum())
    mean = np.log(max(count, 0.5) / max(time, wall.dt))
    if count < LEAST_FALLS:
        return ContactRule(still=round(float(mean), 4), speed=0.0, after=AFTER)
    v, y = into[exposed], falls[exposed]

    def loss(values: Floats) -> float:
        log_rate = values[0] + values[1] * v
        return float(np.exp(log_rate).sum() * wall.dt - log_rate[y].sum())

    result = minimize(
        loss, [mean, 0.0], method="L-BFGS-B", bounds=[(-10.0, 5.0), (0.0, 8.0)]
    )
    still, growth = (round(float(value), 4) for value in result.x)
    return ContactRule(still=still, speed=growth, after=AFTER)


def fall_rate(free: FreeWalks) -> float:
    """Falls on free ground, [1/s]."""
    walking = ~free.fell
    return round(float(free.fell[-1].sum() / (walking.sum() * free.dt)), 6)


def _exposure(wall: WallWalks) -> tuple[Bools, Floats, Bools]:
    """Steps in which a fall is laid to a touch, the speed into it then, and falls."""
    steps, count = wall.touched.shape
    memory = round(AFTER / wall.dt)
    left, last = np.zeros(count, np.int64), np.zeros(count)
    exposed, into = np.zeros((steps, count), np.bool_), np.zeros((steps, count))
    standing = np.ones(count, np.bool_)
    falls = np.zeros((steps, count), np.bool_)
    for step in range(steps):
        now = wall.touched[step]
        left = np.where(now, memory, left - 1)
        last = np.where(now, wall.into[step], last)
        exposed[step] = standing & (left > 0)
        into[step] = last
        falls[step] = exposed[step] & wall.fell[step]
        standing &= ~wall.fell[step]
    return exposed, into, falls


def _used(free: FreeWalks) -> Bools:
    """Steps that show the response: not at the start, not before a fall. (T, N)."""
    margin = round(SETTLED / free.dt)
    ahead = np.concatenate([free.fell[margin:], np.repeat(free.fell[-1:], margin, 0)])
    used = ~ahead
    used[:margin] = False
    used[-margin:] = False
    if used.mean() < 0.1:
        raise ConfigError("fit-twin: the walker falls too soon to be measured")
    return used


def _steady(command: Floats, dt: float) -> Bools:
    """Steps at which all off is noise: commands (T, N) have not changed for `STEADY`.

    Nor do they within the half of `WINDOW` that means reach ahead.
    """
    before, ahead = round(STEADY / dt), round(0.5 * WINDOW / dt) + 1
    changed = np.diff(command, axis=0, prepend=command[:1] + 1.0) != 0.0
    out = np.ones(command.shape, np.bool_)
    for step, now in enumerate(changed):
        out[max(step - ahead, 0) : step + before, now] = False
    return out


def _smooth(values: Floats, dt: float) -> Floats:
    """Means over `WINDOW` along the first axis."""
    return np.asarray(
        uniform_filter1d(values, round(WINDOW / dt), axis=0, mode="nearest")
    )


def _wander(spread: float) -> float:
    """Standard deviation of a motion whose means over `WINDOW` have that of `spread`.

    Its autocorrelation decays with `WANDER`.
    """
    part = WANDER / WINDOW
    factor = 2.0 * part * (1.0 - part * (1.0 - np.exp(-1.0 / part)))
    return round(spread / float(np.sqrt(factor)), 4)


def _still(envelope: Envelope, name: str) -> bool:
    low, high = getattr(envelope, name)
    return bool(low == high == 0.0)
