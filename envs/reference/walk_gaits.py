"""The gaits of a walker that also stands, starts, stops and walks backwards.

From slow to fast: steps backwards, on the spot and slowly ahead, which leg IK makes
(`step_gaits`), then the speeds that a captured cycle is made into. Standing is a gait of its
own, `STAND`, which is switched to and never blended.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.captured import source_cycle
from ambulo.envs.reference.foot_steering import mid_stance
from ambulo.envs.reference.gaits import Blend, Gaits
from ambulo.envs.reference.legs import WIDTH, ankle_places, legs_of
from ambulo.envs.reference.prepare import made_cycle, physical_cycle
from ambulo.envs.reference.reference import Reference, gait_of, stabilized
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.reference.step_gaits import (
    SAMPLES,
    posture_of,
    standing_steps,
    stepping_cycle,
)
from ambulo.motion.gaits.variants import at_speed

STAND = "stand"
"""Name of the gait that stands."""
SLOW = (
    (-0.35, 1.0, WIDTH),
    (-0.2, 1.0, WIDTH),
    (0.0, 1.0, WIDTH),
    (0.2, 1.0, 0.17),
    (0.4, 1.0, 0.16),
    (0.6, 0.9, 0.14),
)
"""Speeds, [m/s], durations of a cycle, [s], and distances of the feet, [m], of the gaits that
leg IK makes: the faster, the closer to the captured ones. Quick steps catch pushes:
with the controllers alone, 40 N s at 0.4 m/s leave 88 % up with cycles of 1.0 s, 50 % with
1.1 s and 21 % with 1.3 s; at 0.6 m/s 92 % with 0.9 s, and 12 % with the captured 1.5 s."""
FAST = (0.85, 1.1, 1.35, 1.6)
"""Speeds that the captured cycle is made into, [m/s]. The first of all gaits lies outside of
the commands, for bodies that lag behind them; with one of 1.74 m/s, 42 % fall at 1.6 m/s."""
CALM = 0.6
"""Speed at which the posture of the captured cycle is that of slow steps, [m/s]."""


class WalkGaits(Gaits):
    """Gaits of ascending speed, and standing behind them."""

    def __init__(self, reference: Reference, character: Character) -> None:
        """Stack `reference`.

        Raises:
            ConfigError: It has no gait that stands, none on the spot, or no two of them.
        """
        stands = [gait for gait in reference.gaits if gait.name == STAND]
        walks = [gait for gait in reference.gaits if gait.name != STAND]
        if len(stands) != 1 or len(walks) < 2:
            raise ConfigError(
                f"reference {reference.name}: no gaits that stand and step; make it from a "
                "clip with task = walk_commands"
            )
        super().__init__(replace(reference, gaits=(*walks, *stands)), character)
        self.walks = len(walks)
        """Number of gaits with steps; that which stands is the next."""

    @property
    def span(self) -> tuple[float, float]:
        """Slowest and fastest speed, [m/s]."""
        return float(self.speed[0]), float(self.speed[self.walks - 1])

    def blend_for(self, speed: Floats, standing: Bools) -> Blend:
        """The gaits for speeds (B,), [m/s], of bodies of which some stand (B,).

        Their clocks always run as they were made: beyond the slowest and fastest speed,
        those are followed.
        """
        slower, share = self._between(speed, self.walks)
        slower = np.where(standing, self.walks, slower)
        return self._blend_of(slower, np.where(standing, 0.0, share))


def walk_reference(
    clip: str | Path | None,
    character: Character,
    *,
    joints: tuple[str, ...] = LocomotionEnvironmentConfig().joints,
    control_dt: float = LocomotionEnvironmentConfig().control_dt,
    frames: str | None = None,
) -> Reference:
    """All gaits of a walker, with their balance controllers; minutes.

    Speeds and times are those of human23; other bodies' go by the root of their legs' lengths
    (R. McN. Alexander, Principles of Animal Locomotion, 2003).

    Those of the captured cycle are led to cycles that the simulation repeats
    (`stabilize`), which a balance controller holds far better: at 0.85 m/s 97 % instead of
    78 % of the time after pushes of 20 N s.

    Args:
        clip: A motion file with a level walk; None: the suite's own plain walk.
        character: The body; its model's timestep is that of the physics.
        joints: Patterns of the joints that the balance controllers may move.
        control_dt: Duration of a control step, [s].
        frames: Part of the clip in which its cycle is found, "A:B"; all if None.

    Raises:
        MotionError: A clip that is no reference for this body.
        ConfigError: A body with other legs.
    """
    legs = legs_of(character)
    pace = float(np.sqrt(legs.size))  # speeds and times of alike gaits go by it
    raw, name, captured = source_cycle(clip, character.skeleton, frames=frames)
    calm, *fast = (
        physical_cycle(
            at_speed(raw, character.soles, pace * speed), character.model, character.soles,
            name=name, captured=captured,
        )
        for speed in (CALM, *FAST)
    )  # fmt: skip
    ahead = [
        ankle_places(legs, one.dynamics.qpos)[..., 0]
        - one.cycle.root_positions.mean(axis=0)[0]
        - (one.cycle.progress - one.cycle.progress.mean(axis=0))[:, :1]
        for one in (calm, *fast)
    ]
    mid = float(mid_stance(np.stack(ahead))[0])
    posture = posture_of(calm.cycle, character)
    still = standing_steps(character, posture)
    slow = [
        (
            f"{pace * speed:.2f}",
            stepping_cycle(
                character, posture, pace * speed, pace * period, mid, width=width
            ),
        )
        for speed, period, width in SLOW
    ]
    gaits = [
        gait_of(made_cycle(cycle, character), character, joints, control_dt, label)
        for label, cycle in (*slow, (STAND, still))
    ]
    for one in fast:
        gait = stabilized(one, character, joints, control_dt, name)
        label = f"{one.report.speed:.2f}"
        gaits.append(replace(gait, table=_at_phases(gait.table), name=label))
    gaits.sort(key=lambda gait: round(gait.table.speed, 3))
    return Reference.of(name, character, control_dt, gaits)


def _at_phases(table: ReferenceTable) -> ReferenceTable:
    """`table` at `SAMPLES` phases, as the generated gaits have them."""
    time = np.arange(SAMPLES) / SAMPLES * table.period
    return ReferenceTable(table.period, table.stride, *table.at(time))
