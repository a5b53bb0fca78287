"""Clips that move faster than gravity lets a person move: a file with a wrong frame rate."""

from __future__ import annotations

import numpy as np

from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.raw_clip import lifted_clip, missing_force
from ambulo.envs.reference.joint_positions import motion_states
from ambulo.motion.motion import Motion
from ambulo.motion.operations import at_speed

DOUBTFUL = 0.3
"""Mean force on the root that the ground cannot give, over body weight, from which a clip's
speed is doubted: walks have 0.02 to 0.12, jumps 0.07 to 0.25; walks at twice their speed (steps
at 3.4 Hz) 0.9."""
LESS = 0.4
"""What half the speed leaves of this force if the speed was the reason; chairs and ladders
bear as much at any speed."""
FRAMES = 300
"""Most frames of a clip whose force is looked at; they lie evenly over it."""


def too_fast(on_body: Motion, character: Character) -> str | None:
    """Why the frame rate of a clip may be wrong; None if nothing speaks for it.

    Forces of a movement grow with the square of its speed, gravity does not.

    Args:
        on_body: The clip, on the character's skeleton.
        character: The body.
    """
    force = _mean_force(on_body, character)
    if force < DOUBTFUL:
        return None
    slow = _mean_force(at_speed(on_body, 0.5), character)
    if slow > LESS * force:
        return None
    return (
        f"the ground cannot give the forces that it moves by (in the mean {force:.0%} of body "
        f"weight; {slow:.0%} at half this speed): if the frame rate of its file is wrong, "
        "`ambulo data convert --speed 0.5` writes it at half its speed"
    )


def _mean_force(on_body: Motion, character: Character) -> float:
    """Mean force on the root that the ground cannot give, over body weight."""
    lifted, *_ = lifted_clip(on_body, character)
    qpos, qvel, qacc = motion_states(lifted, character.model)
    rows = np.linspace(0, len(qpos) - 1, min(len(qpos), FRAMES)).round().astype(int)
    force = missing_force((qpos[rows], qvel[rows], qacc[rows]), character)
    return float(np.linalg.norm(force, axis=1).mean())
