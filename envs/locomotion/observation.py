"""The observation: its layout as data, and the function that fills it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.tasks import TaskTraits
from ambulo.envs.layout import ObservationLayout, Part
from ambulo.envs.locomotion.body import BodyState
from ambulo.envs.simulation.frames import along_heading

LIMIT = 50.0
"""No observed number is larger."""
GROUND_AHEAD = (0.0, 0.2, 0.4, 0.6, 0.8)
"""Places ahead of the root where the ground is seen, [m]."""

_WAVES = np.array([1.0, 2.0])
"""Turns of the shown phase in a cycle."""

AHEAD = (1, 2, 5, 10)
"""Control steps ahead at which `track` shows the reference."""
TRACKER_AGES = (0, 2, 4)
"""Control steps before the newest sample at which `track_body` shows the trackers."""

Parts = Mapping[str, NDArray[Any]]
"""Parts of an observation by name. Shapes (N, n)."""


PHASE = Part("phase", 4, "1", "sin, cos of 1 and 2 turns a cycle")
"""Place in the gait cycle."""
STANDING = Part("standing", 1, "1", "1 while standing is followed, not steps")
"""Whether a body stands."""


def observation_layout(
    config: LocomotionConfig, *, joints: int, controller: int, actions: int
) -> ObservationLayout:
    """The layout that a configuration asks for.

    Args:
        config: All settings.
        joints: Degrees of freedom of the joints.
        controller: Those that a balance controller moves; 0 without a controller.
        actions: Size of an action.
    """
    seen, env = config.observations, config.environment
    traits = env.traits
    parts = [
        Part("height", 1, "m", "root over the ground"),
        Part("up", 3, "1", "the vertical in the root's frame"),
        Part("velocity", 3, "m/s", "root: ahead, left, up in its heading frame"),
        Part("angular_velocity", 3, "rad/s", "root, in its own frame", 0.5),
        Part("place_deviation", 3, "m", "root from its reference, moving frame", 4.0),
        Part("turn_deviation", 3, "rad", "root from its reference, own frame", 4.0),
        Part("joint_deviation", joints, "rad", "joints from their reference", 4.0),
        Part("velocity_deviation", 6, "m/s, rad/s", "root from its reference"),
        Part("rate_deviation", joints, "rad/s", "joints from their reference", 0.2),
    ]
    if traits.clock:
        parts.insert(0, PHASE)
    if seen.joint_state:
        parts += [
            Part("joint_positions", joints, "rad", "rotation vectors from rest"),
            Part("joint_velocities", joints, "rad/s", "in the joints' frames", 0.1),
        ]
    if seen.feet:
        parts += [
            Part("soles", 6, "m", "over ground: heel, ball, toes; left, right", 5.0),
            Part("contacts", 2, "1", "left, right foot touches the ground"),
        ]
    if seen.law and controller:
        parts.append(Part("law", controller, "rad", "offsets of the balance law", 4.0))
    if traits.commands == 2:
        parts += [
            Part("command", 2, "m/s, rad/s", "wanted speed and turning rate"),
            Part("heading_error", 1, "rad", "heading from the wanted one", 2.0),
        ]
        if env.terrain != "flat":
            text = "ground 0 to 0.8 m ahead, over that under the root"
            parts.append(Part("ground", len(GROUND_AHEAD), "m", text, 5.0))
    if traits.commands == 3:
        rates = "m/s, rad/s, m/s"
        parts += [
            Part("command", 3, rates, "speed, turning rate and speed to the left now"),
            Part("goal", 3, rates, "the same as commanded, to be settled into"),
            Part("heading_error", 1, "rad", "heading from the wanted one", 2.0),
            STANDING,
            Part("touch", 3, "100 N, 1", "force ahead and to the left; 1 when touched"),
        ]
    parts += _clip_parts(traits, joints)
    if seen.last_action:
        parts.append(Part("last_action", actions, "1", "the action before"))
    return ObservationLayout(tuple(parts))


def _clip_parts(traits: TaskTraits, joints: int) -> list[Part]:
    """Observation parts of tasks that follow clips."""
    parts, walks = list[Part](), traits.clock
    if not traits.clips:
        return parts
    for steps in AHEAD[:1] if walks else AHEAD:
        text = f"reference in {steps} control steps minus the body's"
        parts += [
            Part(f"place_{steps}", 3, "m", f"root, heading frame: {text}", 2.0),
            Part(f"turn_{steps}", 3, "rad", f"root, own frame: {text}", 2.0),
            Part(f"joints_{steps}", joints, "rad", f"joints: {text}", 2.0),
        ]
    if not traits.trackers:
        return parts
    if walks:
        text = "path from the body: place, heading; its velocity, turning rate"
        parts.append(Part("path", 6, "m, rad, m/s, rad/s", text, 2.0))
    parts.append(Part("tracked", 6, "1", "which trackers there are"))
    for age in TRACKER_AGES:
        text = f"trackers {age} control steps ago, heading frame"
        parts += [
            Part(f"trackers_{age}", 18, "m", f"{text}: from the root"),
            Part(f"tracker_axes_{age}", 36, "1", f"{text}: first two axes"),
        ]
    return parts


def places_ahead(root: Floats, yaw: Floats) -> Floats:
    """World places (N, 5, 2), [m], ahead of roots at (N, 2) that look along `yaw` (N,)."""
    ahead = np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
    steps = np.array(GROUND_AHEAD)[None, :, None]
    places: Floats = root[:, None] + steps * ahead[:, None]
    return places


def state_parts(state: BodyState) -> Parts:
    """The parts of an observation that show the bodies' state."""
    return {
        "height": state.height[:, None],
        "up": state.up,
        "velocity": state.heading,
        "angular_velocity": state.qvel[:, 3:6],
        "place_deviation": state.deviation[:, :3],
        "turn_deviation": state.deviation[:, 3:6],
        "joint_deviation": state.deviation[:, 6:],
        "velocity_deviation": state.rate[:, :6],
        "rate_deviation": state.rate[:, 6:],
        "joint_velocities": state.qvel[:, 6:],
        "soles": state.soles,
        "contacts": state.contacts,
        "heading_error": state.yaw[:, None],
    }


def phase_part(phase: Floats) -> Floats:
    """Sine and cosine of one and two turns a cycle, of phases (N,). Shape (N, 4)."""
    turns = (2.0 * np.pi * phase)[:, None] * _WAVES
    waves = np.empty((len(turns), 4))
    waves[:, ::2], waves[:, 1::2] = np.sin(turns), np.cos(turns)
    return waves


def pose_parts(apart: Floats, yaw: Floats) -> Parts:
    """Poses ahead as parts, seen from bodies with headings `yaw` (N,), [rad].

    Args:
        apart: Poses at the first times of `AHEAD` minus the bodies', tangent space.
            Shape (N, A, nv).
        yaw: Headings of the bodies in the world, [rad]. Shape (N,).
    """
    parts, ahead = dict[str, Floats](), apart.copy()
    ahead[..., :2] = along_heading(apart, yaw)
    for k, steps in enumerate(AHEAD[: apart.shape[1]]):
        for name, columns in (("place", slice(3)), ("turn", slice(3, 6))):
            parts[f"{name}_{steps}"] = ahead[:, k, columns]
        parts[f"joints_{steps}"] = ahead[:, k, 6:]
    return parts


def observe(layout: ObservationLayout, values: Parts, out: NDArray[np.float32]) -> None:
    """Fill the observations `out` (N, size) with the parts of a layout."""
    shown = [values[name] for name in layout.names]
    np.concatenate(shown, axis=1, out=out, casting="same_kind")
    np.minimum(np.maximum(out, -LIMIT, out=out), LIMIT, out=out)
