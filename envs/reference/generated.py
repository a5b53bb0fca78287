"""References out of generated gaits: one gait for each motion, by ascending speed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.prepare import physical_cycle
from ambulo.envs.reference.reference import gait_of
from ambulo.envs.reference.reference_file import Reference
from ambulo.motion.gaits.generated import generated_cycle
from ambulo.motion.motion import Motion

APART = 0.02
"""Least difference in speed of two gaits that are blended, [m/s]."""


def generated_reference(
    motions: Sequence[Motion],
    character: Character,
    *,
    frames: int,
    name: str,
    joints: Sequence[str] = LocomotionEnvironmentConfig().joints,
    control_dt: float = LocomotionEnvironmentConfig().control_dt,
    balance: bool = True,
) -> Reference:
    """The reference that generated gaits make for a character.

    One gait is what `Imitate` follows. Several, which begin at the same moment of the
    cycle, are the motion prior of `Locomote`: it blends those next to the commanded
    speed, and its imitation terms (`rewards.reference_weight`) reward what is like them.

    Args:
        motions: Of five cycles and a frame or more each.
        character: The body; its model's timestep is that of the physics.
        frames: Of a cycle of the motions.
        name: What the reference is called.
        joints: Patterns of the joints that the balance controller may move.
        control_dt: Duration of a control step, [s].
        balance: Make the balance controllers too; a few seconds each.

    Raises:
        ConfigError: Two gaits of one speed, or none at all.
        MotionError: A gait that is no reference for this body.
    """
    prepared = [
        physical_cycle(
            generated_cycle(motion, frames, character.skeleton),
            character.model,
            character.soles,
            name=motion.name or name,
        )
        for motion in motions
    ]
    prepared.sort(key=lambda cycle: cycle.report.speed)
    speeds = [cycle.report.speed for cycle in prepared]
    steps = [after - before for before, after in pairwise(speeds)]
    if not speeds or min(steps, default=1.0) < APART:
        shown = ", ".join(f"{speed:.2f}" for speed in speeds) or "none"
        raise ConfigError(
            f"reference {name}: gaits must differ by {APART} m/s or more in speed, got {shown}"
        )
    dt = control_dt if balance else None
    gaits = tuple(gait_of(cycle, character, joints, dt) for cycle in prepared)
    return Reference(name, character.name, control_dt, gaits, character.joint_names)
