"""The observation: its layout as data, and the pure function that fills it.

The first 48 numbers (with 16 rays) are the [published](index.md#words) ones in their order;
docs and schema are generated from `observation_layout`, so that they match the code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.vr import MOTION_FEATURES, NavigationConfig
from ambulo.envs.layout import ObservationLayout, Part
from ambulo.envs.vr.contract import EYE_HEIGHT
from ambulo.envs.vr.task.memory import memory_fields
from ambulo.envs.vr.world.state import WorldState

TASKS = ("navigate", "follow", "reach", "patrol")
"""Order of the task id."""

Frame = Literal["head", "world"]


_MOTION = (
    "what motion_nn makes of the body's last 10 poses, 30 a second; of a capsule or twin: "
    "of its avatar's"
)

PRIVILEGED = (
    Part("geodesic_distance", 1, "m", "length of the shortest path to the goal", 0.1),
    Part("geodesic_direction", 2, "1", "direction of the shortest path, head frame"),
    Part("time_fraction", 1, "1", "fraction of the step limit used"),
    Part("contact_fraction", 1, "1", "fraction of the last step in contact"),
    Part("detour", 1, "m", "geodesic minus straight distance", 0.1),
)


def observation_layout(config: NavigationConfig) -> ObservationLayout:
    """The layout of a configuration."""
    obs, env = config.observations, config.environment
    head = obs.frame == "head"
    axes = "head (yaw) frame" if head else "world axes"
    origin = "from the episode's start, in its heading frame" if head else "world"
    parts = [
        Part("camera_position", 3, "m", f"head camera, {origin}", 0.1),
        Part("camera_rotation", 4, "1", f"quaternion xyzw, {origin}"),
        Part("camera_velocity", 3, "m/s", axes, 0.5),
        Part("camera_angular_velocity", 3, "rad/s", axes, 0.64),
        Part(
            "ray_sensors", obs.num_ray_sensors, "m",
            f"ray i at i * 360/{obs.num_ray_sensors} deg to the left of +X, {axes}",
            1.0 / obs.ray_length,
        ),
        Part("left_controller_position", 3, "m", f"from the XR origin, {axes}"),
        Part("right_controller_position", 3, "m", f"from the XR origin, {axes}"),
        Part("left_controller_velocity", 3, "m/s", axes, 0.5),
        Part("right_controller_velocity", 3, "m/s", axes, 0.5),
        Part("goal_position", 3, "m", f"from the XR origin, {axes}", 0.1),
        Part("goal_distance", 1, "m", "horizontal", 0.1),
        Part("goal_direction", 3, "1", f"unit vector, {axes}"),
    ]  # fmt: skip
    if len(env.tasks) > 1:
        parts.append(Part("task", len(TASKS), "1", "one-hot: " + ", ".join(TASKS)))
    if obs.comfort:
        parts.append(Part("comfort", 1, "1", "dial: 0 fast, 1 comfortable"))
    parts += [Part(*row) for row in memory_fields(obs.memory)]
    if obs.motion != "none":
        parts.append(Part("motion", MOTION_FEATURES[obs.motion], "1", _MOTION))
    privileged = PRIVILEGED if config.network.privileged_critic else ()
    return ObservationLayout(tuple(parts), privileged)


def rotated(x: Floats, y: Floats, angle: Floats) -> tuple[Floats, Floats]:
    """(x, y) rotated counter-clockwise by `angle`."""
    cos, sin = np.cos(angle), np.sin(angle)
    return cos * x - sin * y, sin * x + cos * y


def seen_from(points: Floats, origin: Floats) -> Floats:
    """Points (N, >= 2), [m], in the frames of `origin`: x, y [m], yaw [rad], (N, 3). (N, 2)."""
    away = points[:, :2] - origin[:, :2]
    return np.column_stack(rotated(away[:, 0], away[:, 1], -origin[:, 2]))


def hand_positions(state: WorldState, frame: Frame) -> Floats:
    """Left and right hand from the XR origin, shape (N, 2, 3), [m]."""
    hands = state.hands.copy()
    if frame == "world":
        hands[..., 0], hands[..., 1] = rotated(
            state.hands[..., 0], state.hands[..., 1], state.yaw[:, None]
        )
    return hands


def observe(
    state: WorldState,
    goal: Floats,
    origin: Floats,
    frame: Frame,
    out: NDArray[np.float32],
    eye_height: float = EYE_HEIGHT,
) -> None:
    """Fill the published numbers of the observation.

    Args:
        state: State of the envs.
        goal: Goal points in the world, shape (N, 3), [m].
        origin: Episode starts x, y, yaw, shape (N, 3).
        frame: `head` or `world`.
        out: Output, shape (N, >= 32 + num_rays), of which the first columns are written.
        eye_height: Height of the camera above the feet, [m].
    """
    head = frame == "head"
    rays = state.rays.shape[1]
    back = -state.yaw if head else np.zeros_like(state.yaw)
    x, y = state.position[:, 0], state.position[:, 1]
    yaw = state.yaw
    if head:
        yaw = state.yaw - origin[:, 2]
        x, y = rotated(x - origin[:, 0], y - origin[:, 1], -origin[:, 2])
    out[:, 0] = x
    out[:, 1] = y
    out[:, 2] = state.position[:, 2] + eye_height
    half = 0.5 * np.remainder(yaw + np.pi, 2.0 * np.pi) - 0.5 * np.pi
    out[:, 3:5] = 0.0
    out[:, 5] = np.sin(half)
    out[:, 6] = np.cos(half)
    vx, vy = rotated(state.velocity[:, 0], state.velocity[:, 1], back)
    out[:, 7] = vx
    out[:, 8] = vy
    out[:, 9] = state.velocity[:, 2]
    out[:, 10:12] = 0.0
    out[:, 12] = state.yaw_rate
    out[:, 13 : 13 + rays] = state.rays
    at = 13 + rays
    hands = hand_positions(state, frame)
    out[:, at : at + 6] = hands.reshape(-1, 6)
    rate = state.yaw_rate[:, None]
    velocity = np.empty_like(hands)
    velocity[:, :, 0] = vx[:, None] - rate * hands[:, :, 1]
    velocity[:, :, 1] = vy[:, None] + rate * hands[:, :, 0]
    velocity[:, :, 2] = state.velocity[:, 2:3]
    out[:, at + 6 : at + 12] = velocity.reshape(-1, 6)
    at += 12
    delta = goal - state.position
    gx, gy = rotated(delta[:, 0], delta[:, 1], back)
    out[:, at] = gx
    out[:, at + 1] = gy
    out[:, at + 2] = delta[:, 2]
    out[:, at + 3] = np.hypot(gx, gy)
    length = np.sqrt(gx * gx + gy * gy + delta[:, 2] ** 2)
    safe = np.maximum(length, 1e-9)
    out[:, at + 4] = gx / safe
    out[:, at + 5] = gy / safe
    out[:, at + 6] = delta[:, 2] / safe


def write_privileged(
    out: NDArray[np.float32],
    where: Mapping[str, slice],
    state: WorldState,
    way: Floats,
    distance: Floats,
    detour: Floats,
    time: Floats,
    contact: Floats,
) -> None:
    """Write the critic's extra numbers.

    Args:
        out: Observations (output). Shape (N, size).
        where: Slices of their parts.
        state: State of the players.
        way: Unit vectors of the shortest paths to the goals, world frame. Shape (N, 2).
        distance: Walking distances to the goals, [m]. Shape (N,).
        detour: Excess of these over straight distances, [m]. Shape (N,).
        time: Elapsed fraction of the episode. Shape (N,).
        contact: Fraction of the last environment step in contact. Shape (N,).
    """
    out[:, where["geodesic_distance"]] = distance[:, None]
    ahead, left = rotated(way[:, 0], way[:, 1], -state.yaw)
    out[:, where["geodesic_direction"]] = np.column_stack([ahead, left])
    out[:, where["time_fraction"]] = time[:, None]
    out[:, where["contact_fraction"]] = contact[:, None]
    out[:, where["detour"]] = detour[:, None]
