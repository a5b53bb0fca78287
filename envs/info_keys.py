"""Meaning of the keys of `info`; the environments' pages are generated from this table."""

from __future__ import annotations

INFO_KEYS: dict[str, tuple[str, str]] = {
    "bridge_fault": ("bool", "the game engine failed; the episode ends"),
    "captured_distance": ("m", "mean distance of all joints from the captured pose"),
    "clamped": ("bool", "the command was moved into the walker's limits"),
    "clip": ("index", "clip of the library that is followed"),
    "collisions": ("count", "collisions that began in this step"),
    "comfort": ("1", "comfort of the motion in this step, in [0, 1]"),
    "distance": ("m", "distance to the goal along the shortest way"),
    "exploded": ("bool", "the simulation diverged; counts as a fall"),
    "fault": (
        "code",
        "why the simulation exploded (`envs/locomotion/faults.py`); 0: no fault",
    ),
    "fell": ("bool", "the body fell over, or off the floor"),
    "gait_phase": ("1", "phase of the walker's cycle, in [0, 1)"),
    "head_height": ("m", "head over the ground"),
    "head_tilt": ("rad", "angle of the head from upright"),
    "is_fault": ("bool", "the simulation exploded"),
    "is_success": (
        "bool",
        "the task is solved, or the body is on its feet at the time limit",
    ),
    "joint_error": ("rad", "mean error of the joints against the reference"),
    "level": ("text", "name of the level that is played"),
    "people_collisions": ("count", "those with people, which `collisions` counts too"),
    "phase": ("1", "phase of the cycle, or how much of the clip is over, in [0, 1]"),
    "power": ("W", "mean absolute power of all joints"),
    "speed": ("m/s", "speed of the root ahead, in its heading frame"),
    "standing": ("bool", "standing is followed, not steps"),
    "touch_force": ("N", "contact forces on the body, without the ground's"),
    "touched": ("bool", "the body touches something beside the ground"),
    "tracker_distance": (
        "m",
        "mean distance of the tracked joints from the captured pose",
    ),
}
"""Unit and meaning by key, beside `reward/<term>` and `factor/<name>`."""

TERMS_OF_FACTORS: dict[str, str] = {
    "gait": "2 times the product of the factors head, average and step",
}
"""Reward terms without a weight of the same name in the configuration."""
