"""Measures of navigation episodes: success, path efficiency, time, and comfort proxies.

Pure functions of arrays. The proxies are physical quantities that the literature links
to discomfort; none of them measures how a person feels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.configs.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    from ambulo.envs.vr.world.moving import MovingBegun

BARN_FASTEST, BARN_SLOWEST = 2.0, 8.0
"""Multiples of the optimal time between which the BARN score falls from 1/2 to 1/8."""

FAST = 3.0
"""Jogging speed, [m/s]."""
HARD = 5.0
"""Acceleration at which the published vignette begins, [m/s^2]."""
HARD_FULL = 20.0
"""Acceleration at which the published vignette is closed, [m/s^2]."""
TURNING = np.radians(20.0)
"""Yaw rate at which godot-xr-tools closes its vignette, [rad/s]."""
FAST_TURNING = np.radians(90.0)
"""An ordinary smooth-turn limit, [rad/s]."""
VIGNETTE_SPEED = 10.0
"""Speed at which godot-xr-tools closes its vignette, [m/s]."""
_MOVING = 0.1
"""Speed below which there is no direction of motion, [m/s]."""


@dataclass(frozen=True, eq=False)
class BodyTrace:
    """Motion of a simulated character in an episode, one row per environment step."""

    head_height: Floats
    """Height of the head, shape (T + 1,), [m]."""
    head_tilt: Floats
    """Tilt of the head from upright,"""
    gait_phase: Floats
    """Phase of the gait, shape (T + 1,), [cycles]."""
    touch_force: Floats
    """Largest contact force in the step,"""
    qpos: NDArray[np.float32]
    """Joint positions at the start and after each of the C control steps of an environment
    step, shape (1 + C T, nq)."""


@dataclass(frozen=True, eq=False)
class PlanTrace:
    """Plans and maps of a navigator, one entry per environment step."""

    paths: tuple[Floats, ...]
    """Planned paths, shape (k, 3) each, [m]."""
    blocked: tuple[Floats, ...]
    """Centres of the cells that it takes to be blocked, shape (k, 3) each, [m]."""


@dataclass(frozen=True, eq=False)
class Trace:
    """Trace of one episode, one row per environment step; row 0 is the start, at rest."""

    dt: float
    """Time between two rows, [s]."""
    position: Floats
    """Position, shape (T + 1, 3), world frame, [m]."""
    yaw: Floats
    """Unwrapped heading, shape (T + 1,), [rad]."""
    velocity: Floats
    """Velocity, shape (T + 1, 3), world frame, [m/s]."""
    yaw_rate: Floats
    """Yaw rate without snap turns, shape (T + 1,), [rad/s]."""
    clearance: Floats
    """Shortest ray, from the axis of the body, shape (T + 1,), [m]."""
    contact_ticks: Ints
    """Ticks in contact, shape (T + 1,)."""
    snaps: Ints
    """Snap turns, shape (T + 1,)."""
    distance: Floats | None = None
    """Walking distance to the goal, shape (T + 1,), [m]."""
    body: BodyTrace | None = None
    """Motion of a character with legs."""
    people_ticks: Ints | None = None
    """Ticks in contact with a person, shape (T + 1,)."""
    moving: MovingBegun | None = None
    """Initial state of moving obstacles; None: none, or agents share the level."""
    plans: PlanTrace | None = None
    """Plans of an agent with a navigator, if requested."""


@dataclass(frozen=True)
class Proxy:
    """One row of the comfort table."""

    unit: str
    meaning: str
    source: str
    """Its source in the literature."""


_OCULUS = "Oculus best practices (2015): accelerations short and infrequent"
_HU = "Hu et al. 2019: discomfort model of acceleration, yaw rate and depth"
_SUOMALAINEN = "Suomalainen et al. 2021: rotational acceleration, distance to walls"
_DE_WINKEL = "de Winkel et al. 2023 (physical motion; direction of the effect debated)"
_WALK = "Oculus best practices (2015): walk 1.4 m/s, jog 3 m/s"
_XR_TOOLS = "engineering default: godot-xr-tools vignette is full at 20 deg/s or 10 m/s"
_VIGNETTE = "engineering default: published vignette grows from 5 to 20 m/s^2"
_TURN = "engineering default: smooth turn at 90 deg/s"
_SIDE = "Oculus best practices (2015): avoid moving backwards and sideways"

COMFORT_PROXIES: dict[str, Proxy] = {
    "speed_mean": Proxy("m/s", "mean horizontal speed", _WALK),
    "speed_over_3": Proxy("1", "fraction of time faster than 3 m/s", _WALK),
    "acceleration_mean": Proxy("m/s^2", "mean |a|", _OCULUS),
    "acceleration_p95": Proxy("m/s^2", "95th percentile of |a|", _OCULUS),
    "acceleration_max": Proxy("m/s^2", "largest |a|", _OCULUS),
    "acceleration_over_5": Proxy("1", "fraction of time with |a| > 5 m/s^2", _VIGNETTE),
    "jerk_mean": Proxy("m/s^3", "mean |jerk|", _DE_WINKEL),
    "jerk_p95": Proxy("m/s^3", "95th percentile of |jerk|", _DE_WINKEL),
    "jerk_max": Proxy("m/s^3", "largest |jerk|", _DE_WINKEL),
    "yaw_rate_mean": Proxy("rad/s", "mean |yaw rate|", _HU),
    "yaw_rate_p95": Proxy("rad/s", "95th percentile of |yaw rate|", _HU),
    "yaw_rate_max": Proxy("rad/s", "largest |yaw rate|", _HU),
    "yaw_rate_over_20_deg": Proxy("1", "fraction of time above 20 deg/s", _XR_TOOLS),
    "yaw_rate_over_90_deg": Proxy("1", "fraction of time above 90 deg/s", _TURN),
    "yaw_acceleration_mean": Proxy("rad/s^2", "mean |yaw acceleration|", _SUOMALAINEN),
    "yaw_acceleration_p95": Proxy("rad/s^2", "95th percentile of it", _SUOMALAINEN),
    "yaw_acceleration_max": Proxy("rad/s^2", "largest", _SUOMALAINEN),
    "yaw_per_metre": Proxy(
        "rad/m", "total turn, snaps included, per metre walked",
        "Ujike 2009: total rotation predicts; Mimnaugh et al. 2021: fewest turns",
    ),
    "strafe_share": Proxy("1", "fraction of moving time 45-135 deg to the side", _SIDE),
    "back_share": Proxy("1", "fraction of moving time over 135 deg backwards", _SIDE),
    "snaps_per_second": Proxy(
        "1/s", "snap turns", "Meta locomotion guide: from 8/s they are seen as motion",
    ),
    "clearance_min": Proxy("m", "smallest shortest ray", _SUOMALAINEN),
    "clearance_mean": Proxy("m", "mean shortest ray", _SUOMALAINEN),
    "vignette_duty": Proxy(
        "1", "mean of clip((|a| - 5) / 15, 0, 1), |a| in m/s^2", _VIGNETTE,
    ),
    "vignette_duty_xr_tools": Proxy(
        "1", "mean of min(1, max(|yaw rate| / 20 deg/s, speed / 10 m/s))", _XR_TOOLS,
    ),
}  # fmt: skip
"""Names, units and sources of `comfort_proxies`; none measures how a person feels."""


def optimal_length(start_distance: ArrayLike, goal_radius: float) -> Floats:
    """Walking distance from the start to the edge of the goal disc: the l of SPL, [m].

    `start_distance` is the walking distance to the goal's centre; an episode ends at
    the edge of the disc, so l is shorter by `goal_radius`, and at least 0.
    """
    return np.maximum(np.asarray(start_distance, np.float64) - goal_radius, 0.0)


def spl(success: Floats, optimal: Floats, path: Floats) -> Floats:
    """Success weighted by path length, S l / max(p, l), per episode.

    After Anderson et al. 2018 (arXiv 1807.06757).

    Args:
        success: 1 or 0.
        optimal: l, see `optimal_length`, [m].
        path: p, length walked, [m].
    """
    return np.asarray(success, np.float64) * _efficiency(optimal, path)


def soft_spl(end_distance: Floats, optimal: Floats, path: Floats) -> Floats:
    """Progress weighted by path length, max(0, 1 - d / l) l / max(p, l), per episode.

    `end_distance` (d) is the remaining walking distance to the edge of the goal disc, [m].
    """
    left = np.asarray(end_distance, np.float64)
    length = np.asarray(optimal, np.float64)
    safe = np.maximum(length, 1e-9)
    progress = np.where(length > 0.0, 1.0 - left / safe, left <= 0.0)
    return np.maximum(progress, 0.0) * _efficiency(optimal, path)


def barn_score(
    success: Floats, optimal: Floats, time: Floats, max_speed: float
) -> Floats:
    """BARN time score, S T_opt / clip(T, 2 T_opt, 8 T_opt), at most 0.5, per episode.

    T_opt = l / max_speed (BARN challenge, Perille et al. 2020).

    Args:
        success: 1 or 0.
        optimal: l, see `optimal_length`, [m].
        time: T, duration of the episode, [s].
        max_speed: of the player, [m/s].
    """
    best = np.maximum(np.asarray(optimal, np.float64) / max_speed, 1e-9)
    clipped = np.clip(time, BARN_FASTEST * best, BARN_SLOWEST * best)
    return np.asarray(success, np.float64) * best / clipped


def comfort_proxies(traces: Sequence[Trace]) -> dict[str, float]:
    """The table of `COMFORT_PROXIES` over all steps of `traces`.

    Derivatives are differences between steps.
    """
    parts = [_derivatives(trace) for trace in traces]
    speed, accel, jerk, rate, twist, side, clearance = (
        np.concatenate([part[k] for part in parts]) for k in range(7)
    )
    path = sum(part[7] for part in parts)
    turned = sum(part[8] for part in parts)
    seconds = sum(trace.dt * (len(trace.yaw) - 1) for trace in traces)
    moving = side[speed > _MOVING]
    table = {
        "speed_mean": speed.mean(),
        "speed_over_3": (speed > FAST).mean(),
        **_spread("acceleration", accel),
        "acceleration_over_5": (accel > HARD).mean(),
        **_spread("jerk", jerk),
        **_spread("yaw_rate", rate),
        "yaw_rate_over_20_deg": (rate > TURNING).mean(),
        "yaw_rate_over_90_deg": (rate > FAST_TURNING + 1e-6).mean(),
        **_spread("yaw_acceleration", twist),
        "yaw_per_metre": turned / max(path, 1e-9),
        "strafe_share": _share((moving > 0.25 * np.pi) & (moving <= 0.75 * np.pi)),
        "back_share": _share(moving > 0.75 * np.pi),
        "snaps_per_second": sum(int(t.snaps.sum()) for t in traces) / seconds,
        "clearance_min": clearance.min(),
        "clearance_mean": clearance.mean(),
        "vignette_duty": np.clip((accel - HARD) / (HARD_FULL - HARD), 0.0, 1.0).mean(),
        "vignette_duty_xr_tools": np.minimum(
            1.0, np.maximum(rate / TURNING, speed / VIGNETTE_SPEED)
        ).mean(),
    }
    return {name: float(table[name]) for name in COMFORT_PROXIES}


def _efficiency(optimal: Floats, path: Floats) -> Floats:
    """L / max(p, l); 1 where both are 0."""
    length = np.asarray(optimal, np.float64)
    longest = np.maximum(path, length)
    return np.where(longest > 0.0, length / np.maximum(longest, 1e-9), 1.0)


def _derivatives(trace: Trace) -> tuple[Floats, ...]:
    """Series of speed, |a|, |jerk|, |yaw rate|, |yaw acceleration|, angle, clearance.

    The angle is between motion and heading. Then the length of the path and the total rotation.
    """
    flat, dt = trace.velocity[:, :2], trace.dt
    accel = np.diff(flat, axis=0) / dt
    jerk = np.diff(accel, axis=0) / dt
    heading = np.arctan2(flat[1:, 1], flat[1:, 0]) - trace.yaw[1:]
    side = np.abs(np.remainder(heading + np.pi, 2.0 * np.pi) - np.pi)
    return (
        np.hypot(flat[1:, 0], flat[1:, 1]),
        np.hypot(accel[:, 0], accel[:, 1]),
        np.hypot(jerk[:, 0], jerk[:, 1]),
        np.abs(trace.yaw_rate[1:]),
        np.abs(np.diff(trace.yaw_rate)) / dt,
        side,
        trace.clearance,
        np.hypot(*np.diff(trace.position[:, :2], axis=0).T).sum(),
        np.abs(np.diff(trace.yaw)).sum(),
    )


def _spread(name: str, values: Floats) -> dict[str, float]:
    """Mean, 95th percentile and maximum."""
    if len(values) == 0:
        return {f"{name}_{k}": 0.0 for k in ("mean", "p95", "max")}
    return {
        f"{name}_mean": float(values.mean()),
        f"{name}_p95": float(np.percentile(values, 95)),
        f"{name}_max": float(values.max()),
    }


def _share(mask: Bools) -> float:
    return float(mask.mean()) if len(mask) else 0.0
