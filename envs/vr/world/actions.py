"""Actions: validation, dead zone, limits, snap turns and teleports, and the discrete ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import ActionError
from ambulo.envs.vr.contract import WorldSpec

DISCRETE_ACTIONS = (
    "forward", "back", "left", "right", "turn_left", "turn_right", "idle",
)  # fmt: skip
"""Names of the discrete actions, by index."""

IN_TURNS = 0.8
"""Fraction of the largest acceleration that walking in a turn may cause: speed and turning rate
grow during the step that is checked."""

_JUMPS = np.array([[0, 1], [0, -1], [1, 0], [-1, 0], [0, 0], [0, 0], [0, 0]], float)
_SNAPS = np.array([0, 0, 0, 0, 1, -1, 0], float)
SNAP_STICK = 0.7
"""Rotation stick beyond which a snap turn is made."""
TELEPORT_STICK = 0.3
"""Stick length beyond which a teleport is made."""
SNAP, TELEPORT = 0, 1
"""Columns of `cooldown`."""
TURN_GAIN = 3.0
"""Planners' yaw rate per radian of heading error, [1/s]."""
_SNAP_FROM = 0.6
"""Fraction of a snap turn from which heading errors are corrected."""


@dataclass(frozen=True)
class EnvMotion:
    """Commands of N environments for one step."""

    target: Floats
    """Command after clipping and dead zone (strafe, forward, rotation), shape (N, 3)."""
    jump: Floats
    """Discrete move or teleport (left, forward), shape (N, 2), [m]."""
    snap: Floats
    """Snap turn, counter-clockwise, shape (N,), [rad]."""


def motion_of(
    actions: NDArray[np.generic],
    spec: WorldSpec,
    command: Floats,
    comfort: Floats | None = None,
    cooldown: Ints | None = None,
) -> EnvMotion:
    """Convert a batch of actions to motion.

    Args:
        actions: Actions of N envs.
        spec: Settings of the world.
        command: Present smoothed commands (strafe, forward, rotation), shape (N, 3).
        comfort: Dials that scale the limits of `spec`, shape (N,), in [0, 1]; None: 1.
        cooldown: Steps until the next snap and teleport, shape (N, 2); None: 0.

    Raises:
        ActionError: Wrong shape, NaN or infinite value, or an unknown discrete action.
    """
    num_envs = len(command)
    if spec.discrete:
        return _discrete(np.asarray(actions), spec, num_envs)
    try:
        batch = np.asarray(actions, np.float64)
    except (TypeError, ValueError) as error:
        raise ActionError(f"actions are not numbers: {error}") from None
    if batch.shape != (num_envs, 3):
        raise ActionError(f"actions have shape {batch.shape}, expected ({num_envs}, 3)")
    if not np.isfinite(batch).all():
        bad = int(np.argwhere(~np.isfinite(batch).all(axis=1))[0, 0])
        raise ActionError(
            f"action of environment {bad} is {batch[bad].tolist()}, expected finite numbers"
        )
    batch = np.clip(batch, -1.0, 1.0)
    zone = spec.dead_zone
    batch = np.sign(batch) * np.maximum(np.abs(batch) - zone, 0.0) / (1.0 - zone)
    stick = np.hypot(batch[:, 0], batch[:, 1])
    batch[:, :2] /= np.maximum(stick, 1.0)[:, None]
    limits = Limits.of(spec, comfort)
    if spec.comfort_speed > 0.0:
        stick = np.hypot(batch[:, 0], batch[:, 1])
        batch[:, :2] *= (limits.stick / np.maximum(stick, limits.stick))[:, None]
    if spec.facing < np.pi:
        _turn_ahead(batch, limits.facing)
    jump, snap = leaps_of(batch, spec, cooldown)
    _limit_changes(batch, spec, limits, command)
    return EnvMotion(batch, jump, snap)


def _turn_ahead(target: Floats, facing: Floats | float) -> None:
    """Rotate sticks that point aside by more than `facing` [rad] to it; shorten them."""
    angle = np.arctan2(target[:, 0], target[:, 1])
    beyond = np.maximum(np.abs(angle) - facing, 0.0)
    length = np.hypot(target[:, 0], target[:, 1])
    length *= np.maximum(np.cos(beyond), 0.0)
    angle = np.clip(angle, -facing, facing)
    target[:, 0] = length * np.sin(angle)
    target[:, 1] = length * np.cos(angle)


def _limit_changes(
    target: Floats, spec: WorldSpec, limits: Limits, command: Floats
) -> None:
    """Move targets towards the commands so that accelerations stay within their limits.

    A tick moves the command by a fraction 1 - decay towards the target, so the first tick
    accelerates most. In a turn of rate w, speed v is an acceleration v w: at most `IN_TURNS` of
    the limit, of which the stick has the rest.
    """
    share = (1.0 - spec.tick_decay) / spec.dt
    most = limits.acceleration
    speed = np.hypot(command[:, 0], command[:, 1]) * spec.max_speed
    if spec.max_acceleration > 0.0:
        turn = IN_TURNS * most / np.maximum(speed * spec.max_yaw_rate, 1e-9)
        target[:, 2] = np.clip(target[:, 2], -turn, turn)
    if spec.max_yaw_acceleration > 0.0:
        most_turn = limits.yaw_acceleration / (share * spec.max_yaw_rate)
        low, high = command[:, 2] - most_turn, command[:, 2] + most_turn
        target[:, 2] = np.clip(target[:, 2], low, high)
    if spec.max_acceleration <= 0.0:
        return
    rate = np.maximum(np.abs(target[:, 2]), np.abs(command[:, 2])) * spec.max_yaw_rate
    fastest = IN_TURNS * most / np.maximum(rate * spec.max_speed, 1e-9)
    stick = np.hypot(target[:, 0], target[:, 1])
    target[:, :2] *= np.minimum(1.0, fastest / np.maximum(stick, 1e-9))[:, None]
    change = target[:, :2] - command[:, :2]
    left = np.maximum(most - speed * rate, (1.0 - IN_TURNS) * most)
    size = np.hypot(change[:, 0], change[:, 1])
    step = left / (share * spec.max_speed)
    change *= np.minimum(1.0, step / np.maximum(size, 1e-9))[:, None]
    target[:, :2] = command[:, :2] + change


def _discrete(actions: NDArray[Any], spec: WorldSpec, num_envs: int) -> EnvMotion:
    if actions.shape != (num_envs,):
        raise ActionError(f"actions have shape {actions.shape}, expected ({num_envs},)")
    if not np.issubdtype(actions.dtype, np.integer):
        raise ActionError(
            f"discrete actions have type {actions.dtype}, expected integers"
        )
    if ((actions < 0) | (actions >= len(DISCRETE_ACTIONS))).any():
        raise ActionError(f"discrete actions must be 0..{len(DISCRETE_ACTIONS) - 1}")
    return EnvMotion(
        np.zeros((num_envs, 3)),
        _JUMPS[actions] * spec.move_distance,
        _SNAPS[actions] * spec.turn_angle,
    )


@dataclass(frozen=True)
class Limits:
    """Limits of the sticks: numbers for all environments, or arrays of shape (N,)."""

    stick: Floats | float
    """Largest length of the stick."""
    acceleration: Floats | float
    """Acceleration, [m/s^2]; infinite: no limit. Not used without a limit in `WorldSpec`."""
    yaw_acceleration: Floats | float
    """Yaw acceleration, [rad/s^2]; infinite: no limit. Not used without a limit in
    `WorldSpec`."""
    facing: Floats | float
    """Largest angle between the stick and straight ahead, [rad]."""

    @classmethod
    def of(cls, spec: WorldSpec, comfort: Floats | None) -> Limits:
        """The limits of `spec` at dials `comfort` (N,) in [0, 1]; None: 1 everywhere."""
        slowest = (spec.comfort_speed or spec.max_speed) / spec.max_speed
        if comfort is None:
            most, most_turn = spec.max_acceleration, spec.max_yaw_acceleration
            return cls(slowest, most, most_turn, spec.facing)
        free = 1.0 - comfort
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return cls(
                stick=slowest + free * (1.0 - slowest),
                acceleration=spec.max_acceleration / comfort,
                yaw_acceleration=spec.max_yaw_acceleration / comfort,
                facing=spec.facing + free * (np.pi - spec.facing),
            )


def leaps_of(
    target: Floats, spec: WorldSpec, cooldown: Ints | None
) -> tuple[Floats, Floats]:
    """Extract teleports and snap turns from a batch of commands.

    The part of the command that triggers one is set to 0.

    Args:
        target: Command after dead zone and facing (strafe, forward, rotation), shape (N, 3),
            changed in place.
        spec: Settings of the world.
        cooldown: Steps until the next snap and teleport, shape (N, 2); None: 0.

    Returns:
        Instant moves (left, forward), shape (N, 2), [m], and instant turns, counter-clockwise,
        shape (N,), [rad].
    """
    num_envs = len(target)
    jump, snap = np.zeros((num_envs, 2)), np.zeros(num_envs)
    wait = np.zeros((num_envs, 2), np.int64) if cooldown is None else cooldown
    if spec.snap_turn > 0.0:
        turns = (np.abs(target[:, 2]) > SNAP_STICK) & (wait[:, SNAP] == 0)
        snap -= np.where(turns, np.sign(target[:, 2]) * spec.snap_turn, 0.0)
        target[:, 2] = 0.0
    if spec.teleport > 0.0:
        stick = np.hypot(target[:, 0], target[:, 1])
        aims = (stick > TELEPORT_STICK) & (wait[:, TELEPORT] == 0)
        jump[:, 0] -= np.where(aims, target[:, 0] * spec.teleport, 0.0)
        jump[:, 1] += np.where(aims, target[:, 1] * spec.teleport, 0.0)
        target[:, :2] = 0.0
    return jump, snap


def count_down(cooldown: Ints, jump: Floats, snap: Floats, spec: WorldSpec) -> None:
    """Update `cooldown` (N, 2) after a step with these moves and turns, in place."""
    np.maximum(cooldown - 1, 0, out=cooldown)
    if spec.snap_turn > 0.0:
        cooldown[snap != 0.0, SNAP] = spec.steps_of(spec.snap_delay) - 1
    if spec.teleport > 0.0:
        made = jump.any(axis=1)
        cooldown[made, TELEPORT] = spec.steps_of(spec.teleport_delay) - 1


def stick(
    velocity: Floats, yaw_rate: Floats, spec: WorldSpec, cooldown: Ints | None = None
) -> Floats:
    """Actions (N, 3) for a head-frame velocity (N, 2) and a yaw rate (N,).

    Beyond the limits the velocity is shortened and the yaw rate clipped; the dead zone is
    undone. A snapping stick snaps if the heading error behind the yaw rate (`TURN_GAIN`) is
    over half a snap and none is pending (`cooldown`, steps until the next one, shape (N, 2);
    None: 0). The velocity is then in the head frame after the turn, as the world expects.
    """
    if spec.snap_turn > 0.0:
        far = np.abs(yaw_rate) > _SNAP_FROM * TURN_GAIN * spec.snap_turn
        ready = True if cooldown is None else cooldown[:, SNAP] == 0
        turn = np.where(far & ready, np.sign(yaw_rate), 0.0)
        ahead, left = velocity.T
        cos, sin = np.cos(turn * spec.snap_turn), np.sin(turn * spec.snap_turn)
        velocity = np.column_stack([cos * ahead + sin * left, cos * left - sin * ahead])
    else:
        turn = np.clip(yaw_rate / spec.max_yaw_rate, -1.0, 1.0)
    speed = np.hypot(velocity[:, 0], velocity[:, 1])
    fraction = velocity / np.maximum(speed, spec.max_speed)[:, None]
    target = np.column_stack([-fraction[:, 1], fraction[:, 0], -turn])
    full = np.abs(target) * (1.0 - spec.dead_zone) + spec.dead_zone
    return np.sign(target) * np.where(target == 0.0, 0.0, full)


def follow_plan(
    actions: NDArray[np.generic], walks: Bools, velocity: Floats, spec: WorldSpec
) -> NDArray[np.generic]:
    """Actions overridden by the plan where it does not walk on, or the stick is at rest.

    Args:
        actions: Actions of N envs (strafe, forward, rotation), shape (N, 3); others, and those
            that are not finite, are returned unchanged.
        walks: Whether the plan walks along its path, shape (N,); otherwise it rides, waits, or
            gives way.
        velocity: Velocity of the plan (forward, left), shape (N, 2), [m/s].
        spec: Settings of the world.
    """
    sticks = np.asarray(actions)
    numbers = sticks.shape == (len(walks), 3) and sticks.dtype.kind in "fiub"
    if not numbers or not np.isfinite(sticks).all():
        return actions
    asked = stick(velocity, np.zeros(len(walks)), spec)[:, :2]
    moves = (np.abs(sticks[:, :2]) > spec.dead_zone).any(axis=1)
    own = (walks & moves)[:, None]
    return np.column_stack([np.where(own, sticks[:, :2], asked), sticks[:, 2]])
