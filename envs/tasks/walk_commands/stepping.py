"""Transitions between standing and stepping, the reference frame, and yielding to contacts."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.reference.legs import WIDTH
from ambulo.envs.reference.walk_gaits import LEASH
from ambulo.envs.simulation.frames import hold_near

NEAR = 0.05
"""Steps end this near to the middle of double support, [cycles]."""
FEET_OFF, SPEED_OFF = 0.06, 0.3
"""Largest distance of the feet from the standing pose, [m], and largest speed of the root,
[m/s], at which steps may end: feet elsewhere would be pulled."""
START_HOLD, TRIP_HOLD = 0.5, 1.0
"""Time of stepping on the spot after a start, and at least after a push, [s]."""
QUIET, FADE = 0.5, 0.5
"""Time in standing after which the policy's offsets fade, and duration of the fade, [s]. The
balance controller alone can stand indefinitely; a policy that was trained on short stands
drifts off in ten seconds."""
TRIP_SPEED, TRIP_FORCE = 0.15, 16.0
"""Speed of a standing root, [m/s], or force on the body, [N], that triggers steps."""
SWAY = 0.4
"""Time in which the sway of the last step dies out, [s]; until then `SPEED_OFF` is no push."""

TOUCHED_LEASH, YAW_LEASH = 0.03, 0.4
"""Largest distance of the reference frame from a body on contact with an obstacle, [m], and its
largest yaw from the body, [rad]."""
TIED = 0.3
"""Fraction of the distance to between the feet that the frame of a standing body moves per
step."""

FILTER = 0.15
"""Time constant of the low-pass of the force, [s]."""
HOLD = 0.5
"""Time for which a contact counts, [s]."""
AWAY_AHEAD, AWAY_SIDE = np.deg2rad(60.0), np.deg2rad(24.0)
"""Turning rates away from contacts ahead and beside, [rad/s]."""
SLOW = 0.5
"""Largest speed beside a touched obstacle, [m/s]."""
GIVE, FASTEST = 0.003, 0.3
"""Speed by force, [m/s/N], with which a standing body yields, and the largest ahead and to a
side, [m/s]. Pushed by an obstacle at 0.6 m/s, 44 % stay up; 31 % when only the reference frame
was moved."""
STRONGEST = 400.0
"""Clipping of the force before the low-pass, [N]: impacts are short."""


def stops(
    phase: Floats,
    mid_stance: float,
    command: Floats,
    apart: Floats,
    speed: Floats,
    width: float = WIDTH,
) -> Bools:
    """Mask of the stepping bodies that may stand now. Shape (N,).

    Args:
        phase: Gait phase, [cycles]. Shape (N,).
        mid_stance: Phase of the left foot's mid-stance.
        command: Present speed, turning rate, speed to the left. Shape (N, 3).
        apart: From the right ankle to the left one, along the heading and to the left,
            [m]. Shape (N, 2).
        speed: Horizontal speed of the root, [m/s]. Shape (N,).
        width: Lateral distance of the ankles in standing, [m].
    """
    place = (phase - mid_stance - 0.25) % 0.5
    double = np.minimum(place, 0.5 - place) < NEAR
    off = np.hypot(apart[:, 0], apart[:, 1] - width)
    slow = (np.abs(command) < [0.08, 0.12, 0.06]).all(axis=1)
    ends: Bools = double & slow & (off < FEET_OFF) & (speed < SPEED_OFF)
    return ends


def policy_fraction(stood: Floats) -> Floats:
    """Factor on the policy's offsets after standing for `stood`, [s]. Shape (N,)."""
    share: Floats = 1.0 - np.clip((stood - QUIET) / FADE, 0.0, 1.0)
    return share


def first_phase(mid_stance: float, sideways: Floats) -> Floats:
    """Phase at which steps begin: in double support, on the side to which the body moves.

    Args:
        mid_stance: Phase of the left foot's mid-stance.
        sideways: Velocity to the left, [m/s]. Shape (N,).
    """
    begin: Floats = (mid_stance + np.where(sideways > 0.0, -0.25, 0.25)) % 1.0
    return begin


def stay_near(frames: Floats, root: Floats, yaw: Floats, touched: Bools) -> None:
    """Pull frames (N, 4) back to bodies that are too far away, in place.

    Args:
        frames: Reference frames.
        root: Positions of the roots, [m]. Shape (N, 2).
        yaw: Headings of the roots from the frames, [rad]. Shape (N,).
        touched: Mask of the bodies that touch an obstacle. Shape (N,).
    """
    hold_near(frames, root, np.where(touched, TOUCHED_LEASH, LEASH))
    frames[:, 2] += yaw - np.clip(yaw, -YAW_LEASH, YAW_LEASH)


def tie(frames: Floats, feet: Floats, turns: Floats, behind: float) -> None:
    """Move frames (k, 4) of standing bodies towards the middle of their feet, in place.

    Args:
        frames: Reference frames.
        feet: Positions of the ankles, [m]. Shape (k, 2, 3).
        turns: Rotation matrices of the feet. Shape (k, 2, 9).
        behind: Distance of the ankles ahead of the frame in standing, [m].
    """
    ahead = turns.reshape(-1, 2, 3, 3)[..., :2, 0].sum(axis=1)
    yaw = np.arctan2(ahead[:, 1], ahead[:, 0])
    facing = np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
    place = feet[..., :2].mean(axis=1) - behind * facing
    frames[:, :2] += TIED * (place - frames[:, :2])
    frames[:, 2] += TIED * ((yaw - frames[:, 2] + np.pi) % (2.0 * np.pi) - np.pi)


def low_passed(force: Floats, now: Floats, dt: float) -> Floats:
    """The low-passed force after another `dt`, [s]. Shape (N, 2), [N]."""
    size = np.linalg.norm(now, axis=1, keepdims=True)
    bounded = now * np.minimum(1.0, STRONGEST / np.maximum(size, 1e-9))
    after: Floats = force + (1.0 - np.exp(-dt / FILTER)) * (bounded - force)
    return after


def away(goal: Floats, force: Floats, touched: Bools) -> Floats:
    """Commands (N, 3) away from the contacts.

    Args:
        goal: Commanded speed, turning rate and speed to the left. Shape (N, 3).
        force: On the body, ahead and to the left, [N]. Shape (N, 2).
        touched: Mask of the bodies in contact. Shape (N,).
    """
    out = goal.copy()
    size = np.maximum(np.linalg.norm(force, axis=1), 1e-9)
    ahead = touched & (force[:, 0] < -0.5 * size) & (goal[:, 0] > 0.05)
    beside = touched & ~ahead & (goal[:, 0] > 0.05)
    aside = np.where(force[:, 1] >= 0.0, 1.0, -1.0)
    out[ahead, 0] = 0.0
    out[ahead, 1] = (AWAY_AHEAD * aside)[ahead]
    out[beside, 0] = np.minimum(goal[beside, 0], SLOW)
    turning = np.maximum(goal[:, 1] * aside, AWAY_SIDE) * aside
    out[beside, 1] = turning[beside]
    against = touched & (goal[:, 2] * force[:, 1] < 0.0)
    out[against, 2] = 0.0
    return out


def giving(force: Floats) -> Floats:
    """Commands (N, 3) that yield to forces ahead and to the left, (N, 2), [N]."""
    velocity = np.clip(GIVE * force, -FASTEST, FASTEST)
    given: Floats = np.insert(velocity, 1, 0.0, axis=1)
    return given
