"""Forces that a clip needs and feet on level ground cannot give: where, and of what kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter1d

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.balancing import (
    beside,
    center_of_pressure,
    sole_reach,
)
from ambulo.envs.reference.clips.raw_clip import (
    RawClip,
    lifted_clip,
    missing_force,
)
from ambulo.envs.reference.joint_positions import motion_states
from ambulo.motion.analysis import spans
from ambulo.motion.motion import Motion
from ambulo.motion.operations import at_speed

MISSING = 0.35
"""A missing force over body weight, in the mean of `AVERAGE`, from which it is reported: walks
of 12 people need up to 0.32, jumps and kicks 0.34, ladders 0.9."""
ASIDE = 0.15
"""Distance of the centre of pressure from the feet, in the mean of `AVERAGE`, from which it is
reported, [m]: walks, runs, jumps, kicks and dances of 30 people come to 0.13, people who sit,
or push something heavy, to 0.2 to 0.5."""
AVERAGE = 0.3
"""Time over which forces are averaged, [s]: a landing is shorter, a chair is not."""
LONG = 0.3
"""Shortest time that is reported, [s]."""
SHOVED = 0.6
"""Missing force along the ground over body weight from which it is no matter of balance."""
RAISED = 0.1
"""Height of the feet over the ground from which they stand on something, [m]."""
DOUBTFUL = 0.3
"""Mean force on the root that the ground cannot give, over body weight, from which a clip's
speed is doubted: walks have 0.02 to 0.12, jumps 0.07 to 0.25; walks at twice their speed (steps
at 3.4 Hz) 0.9."""
LESS = 0.4
"""What half the speed leaves of this force if the speed was the reason; chairs and ladders
bear as much at any speed."""
FRAMES = 300
"""Most frames of a clip whose force is looked at; they lie evenly over it."""


@dataclass(frozen=True)
class MissingSupport:
    """A time in which nothing in the simulation gives a force that the clip needs."""

    begin: float
    """When it begins, [s] from the clip's first frame."""
    end: float
    """When it ends, [s]."""
    first: int
    """The frame of the clip's file at which it begins."""
    last: int
    """The frame at which it ends."""
    upwards: float
    """Mean missing force upwards, over body weight."""
    sideways: float
    """Mean length of the missing force along the ground, over body weight."""
    height: float
    """Median height of the lowest point over the ground, [m]."""
    aside: float
    """Largest distance of the centre of pressure from the feet, [m]; 0 without one."""

    @property
    def why(self) -> str:
        """What the clip needs there, in words."""
        force = f"{self.upwards:.0%} of the body's weight"
        if self.height > RAISED and self.upwards > abs(self.sideways):
            return (
                f"{force} is borne {self.height:.2f} m above the ground: a chair or box, "
                "steps, a ladder or a bar"
            )
        if self.aside > ASIDE and self.sideways < SHOVED:
            return (
                f"the body's weight acts {self.aside:.2f} m beside its feet: a chair or box, "
                "a wall, a load or a partner"
            )
        if abs(self.upwards) < self.sideways:
            return (
                f"its momentum along the ground changes by {self.sideways:.0%} of the body's "
                "weight more than feet can push: a partner or a rail, or too few frames for "
                "so fast a movement"
            )
        if self.upwards < 0.0:
            return (
                f"it is pulled down by {-self.upwards:.0%} of the body's weight: faster than "
                "a fall, or lost markers"
            )
        return (
            f"{force} rests on something beside the feet: a chair or box, a wall or a "
            "partner"
        )

    def text(self) -> str:
        """When, and what the clip needs there."""
        return (
            f"{self.begin:.2f} to {self.end:.2f} s (frames {self.first} to {self.last}): "
            f"{self.why}"
        )


def missing_support(
    raw: RawClip, fps: float, first: int = 0
) -> tuple[MissingSupport, ...]:
    """Times in which a clip needs a force that the ground does not give.

    Args:
        raw: The clip on the body.
        fps: Of the clip's file, [Hz].
        first: The frame of the file at which the clip begins.
    """
    dt = raw.table.period / (len(raw.table.qpos) - 1)
    size = max(1, round(AVERAGE / dt))
    force = uniform_filter1d(raw.force, size, axis=0, mode="nearest")
    aside = _aside(raw, size)
    missing = np.linalg.norm(force, axis=1) > MISSING
    needs = []
    for start, stop in spans(missing | (aside > ASIDE)):
        if (stop - start) * dt < LONG:
            continue
        rows = slice(start, stop)
        needs.append(
            MissingSupport(
                begin=start * dt,
                end=stop * dt,
                first=first + round(start * dt * fps),
                last=first + round(stop * dt * fps),
                upwards=float(force[rows, 2].mean()),
                sideways=float(np.linalg.norm(force[rows, :2], axis=1).mean()),
                height=float(np.median(raw.height[rows])),
                aside=float(aside[rows].max()),
            )
        )
    return tuple(needs)


def _aside(raw: RawClip, size: int) -> Floats:
    """Distance of the centre of pressure from what the feet cover, [m]. Shape (T,).

    The centre of pressure is that of the mean force of `size` samples, the feet are those of
    all of these. 0 where the body hardly needs a force upwards, or no foot is near the ground.
    """
    center, pressed = center_of_pressure(raw.wrench, size)
    reach = sole_reach(raw.soles, size)
    known = pressed & np.isfinite(reach).all(axis=1)
    gap = beside(center, np.where(known[:, None], reach, np.inf))
    return np.where(known, np.maximum(gap, 0.0), 0.0)


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
