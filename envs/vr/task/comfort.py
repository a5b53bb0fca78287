"""Comfort of motion: the published score, smoothness, and an index from the literature.

Formula, weights and sources: docs/comfort.md. Proxies, never a measure of sickness.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ambulo.configs.arrays import Floats

FAST_TURN = 0.7
"""Yaw rate above which turning counts as uncomfortable, [rad/s] (published)."""
FAST_SHARE = 0.8
"""Fraction of the top speed above which moving counts as uncomfortable (published)."""
HARD_ACCELERATION = 10.0
"""Acceleration at which smoothness is zero, [m/s^2]."""
_SIDE = np.radians(90.0)
_ANGLE = np.radians(60.0)
"""Angle over which sideways motion blends into forward or backward motion, [rad]."""
_MOVING = 0.5
"""Speed from which the direction of motion counts in full, [m/s]."""
VIGNETTE_RELIEF = 0.5
"""Fraction of the visual parts that a full vignette removes: our choice."""
SEEN = (
    "speed", "acceleration", "jerk", "yaw_rate", "yaw_acceleration", "sideways", "backwards",
)  # fmt: skip
"""Visual parts, which a narrow field of view reduces."""


def comfort_score(yaw_rate: Floats, speed: Floats, max_speed: float) -> Floats:
    """Published score per environment step, in [0.5, 1], shape (N,).

    1 - 0.3 [|yaw rate| > 0.7 rad/s] - 0.2 [speed > 0.8 max_speed]; the published third term
    (roll) is always zero for an upright player. The published condition on `rotation_speed`
    names no unit; rad/s is the stricter reading.
    """
    turning = np.abs(yaw_rate) > FAST_TURN
    fast = speed > FAST_SHARE * max_speed + 1e-9
    return 1.0 - 0.3 * turning - 0.2 * fast


def smoothness(velocity_change: Floats, dt: float) -> Floats:
    """1 at rest or constant velocity, 0 at `HARD_ACCELERATION`, shape (N,).

    `velocity_change`: difference of horizontal velocity over `dt`, shape (N, 2), [m/s].
    """
    acceleration = np.hypot(velocity_change[:, 0], velocity_change[:, 1]) / dt
    return np.clip(1.0 - acceleration / HARD_ACCELERATION, 0.0, 1.0)


@dataclass(frozen=True)
class Range:
    """One part of the index: 0 up to `low`, 1 from `high` on, linear between."""

    weight: float
    low: float
    high: float
    unit: str
    source: str
    """Its source in the literature."""


PARTS: dict[str, Range] = {
    "speed": Range(
        0.10, 1.4, 3.0, "m/s", "Oculus best practices (2015): walk 1.4 m/s, jog 3 m/s"
    ),
    "acceleration": Range(
        0.20, 0.5, 5.0, "m/s^2",
        "Oculus best practices: the primary cause of discomfort; Hu et al. 2019",
    ),
    "jerk": Range(
        0.05, 5.0, 50.0, "m/s^3",
        "predictability: Suomalainen et al. 2021; little weight, as short pulses were "
        "rated better by de Winkel et al. 2023",
    ),
    "yaw_rate": Range(
        0.20, 0.0, np.pi / 2, "rad/s", "Ujike 2009; Hu et al. 2019; Mimnaugh et al. 2021"
    ),
    "yaw_acceleration": Range(
        0.10, 0.5, 6.0, "rad/s^2", "Suomalainen et al. 2021: named as the main cause"
    ),
    "sideways": Range(0.12, 0.0, 1.0, "1", "Oculus best practices: avoid moving sideways"),
    "backwards": Range(0.18, 0.0, 1.0, "1", "Oculus best practices: avoid moving backwards"),
    "head_bob": Range(0.05, 0.0, 0.3, "m/s", "Oculus best practices: no head bob"),
}  # fmt: skip
"""Parts of the index by name; the weights sum to 1."""


@dataclass(frozen=True)
class HeadMotion:
    """Motion of N heads in a step, all of shape (N,), none negative."""

    speed: Floats
    """Horizontal speed, [m/s]."""
    acceleration: Floats
    """Horizontal acceleration, [m/s^2]."""
    jerk: Floats
    """Horizontal jerk, [m/s^3]."""
    yaw_rate: Floats
    """Yaw rate, [rad/s]."""
    yaw_acceleration: Floats
    """Yaw acceleration, [rad/s^2]."""
    sideways: Floats
    """Sideways fraction of the motion, in [0, 1]."""
    backwards: Floats
    """Backward fraction of the motion, in [0, 1]."""
    head_bob: Floats
    """Vertical speed of the head relative to the floor, [m/s]."""


def head_motion(
    velocity: Floats,
    acceleration: Floats,
    jerk: Floats,
    yaw: Floats,
    yaw_rate: Floats,
    yaw_acceleration: Floats,
    head_bob: Floats | None = None,
) -> HeadMotion:
    """The motion of heads with these derivatives.

    Args:
        velocity: horizontal, shape (N, 2), [m/s].
        acceleration: horizontal, shape (N, 2), [m/s^2].
        jerk: horizontal, shape (N, 2), [m/s^3].
        yaw: heading, shape (N,), [rad].
        yaw_rate: shape (N,), [rad/s].
        yaw_acceleration: shape (N,), [rad/s^2].
        head_bob: vertical speed against the floor, shape (N,), [m/s]; None: none.
    """
    speed = np.hypot(velocity[:, 0], velocity[:, 1])
    angle = np.arctan2(velocity[:, 1], velocity[:, 0]) - yaw
    angle = np.abs(np.remainder(angle + np.pi, 2.0 * np.pi) - np.pi)
    moving = np.minimum(speed / _MOVING, 1.0)
    return HeadMotion(
        speed=speed,
        acceleration=np.hypot(acceleration[:, 0], acceleration[:, 1]),
        jerk=np.hypot(jerk[:, 0], jerk[:, 1]),
        yaw_rate=np.abs(yaw_rate),
        yaw_acceleration=np.abs(yaw_acceleration),
        sideways=moving * np.maximum(1.0 - np.abs(angle - _SIDE) / _ANGLE, 0.0),
        backwards=moving * np.clip((angle - _SIDE) / _ANGLE, 0.0, 1.0),
        head_bob=np.zeros_like(speed) if head_bob is None else np.abs(head_bob),
    )


def discomforts(motion: HeadMotion, vignette: float = 0.0) -> dict[str, Floats]:
    """Each part of the index in [0, 1] by name, shape (N,); 0 is comfortable.

    `vignette` is the fraction by which the field of view is narrowed in motion.
    """
    out = {}
    for part in fields(motion):
        span = PARTS[part.name]
        value = (getattr(motion, part.name) - span.low) / (span.high - span.low)
        out[part.name] = np.clip(value, 0.0, 1.0)
        if part.name in SEEN:
            out[part.name] *= 1.0 - VIGNETTE_RELIEF * vignette
    return out


def comfort_index(motion: HeadMotion, vignette: float = 0.0) -> Floats:
    """1 minus the weighted sum of `discomforts`, in [0, 1], shape (N,); 1 at rest."""
    parts = discomforts(motion, vignette)
    total = np.zeros_like(motion.speed)
    for name, part in parts.items():
        total += PARTS[name].weight * part
    return 1.0 - total
