"""The gaits of a walker that also stands, starts, stops and walks backwards.

From slow to fast: steps backwards, on the spot and slowly ahead, which leg IK makes
(`step_gaits`), then the speeds that a captured cycle is made into. Standing is a gait of its
own, `STAND`, which is switched to and never blended.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import ConfigError, MotionError
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.balance import (
    STEPPING,
    WALKING,
    cycle_steps,
)
from ambulo.envs.reference.clips.survival import (
    PUSHED,
    STANDING,
    UPRIGHT,
    Trial,
    best_feedback,
)
from ambulo.envs.reference.cycles.building import gait_of, stabilized
from ambulo.envs.reference.cycles.captured import source_cycle
from ambulo.envs.reference.cycles.prepare import (
    PreparedCycle,
    made_cycle,
    physical_cycle,
)
from ambulo.envs.reference.foot_steering import mid_stance
from ambulo.envs.reference.gaits import STAND, Blend, Gaits
from ambulo.envs.reference.joint_patterns import matching_dofs
from ambulo.envs.reference.legs import WIDTH, ankle_places, legs_of
from ambulo.envs.reference.reference import Reference, ReferenceMotion
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.reference.step_gaits import (
    SAMPLES,
    posture_of,
    standing_posture,
    standing_steps,
    stepping_cycle,
)
from ambulo.motion.gaits.variants import at_speed

log = logging.getLogger(__name__)

Options = tuple[Character, tuple[str, ...], float]
"""A body, the joints that its balance controllers move, and duration of a control step, [s]."""
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
WIDE = 0.22
"""Distance of the feet of bodies of the user's own in standing and slow steps, [m]."""
STEPS = ((-0.35, WIDE), (0.0, WIDE), (0.3, WIDE), (0.6, 0.2), (0.9, 0.17))
"""Speeds, [m/s], and distances of the feet, [m], of the gaits of users' own bodies without a
clip, which step so at all speeds. Retargeted, the suite's walk topples robots with small feet:
of 16 of Unitree's G1 one stays up for 5 s at 0.73 m/s, with such steps all do. Out of faster
ones bodies fall when they brake or turn: up to 0.9 m/s all of 60 of a Daz rig stay up for 20 s
on commands, up to 1.6 m/s 82 %."""
PERIODS, QUICK = (0.6, 0.5, 0.4), 0.95
"""Durations of their cycles, [s], from the calmest on, and the mean of what the first three
gaits hold from which none quicker is tried. Quick steps catch pushes: of Unitree's G1, 93, 99
and 100 % stay up after 20 N s per 70 kg, of XBot-L 89, 99 and 100 %."""
LEFT = 0.25
"""Phase of their left mid-stance."""
LEASH = 0.2
"""Largest distance of the reference frame from a body, [m]: it follows bodies that drift."""
STEPS_TRIAL = Trial(
    (STEPPING, WALKING, UPRIGHT), (PUSHED,), bodies=24, seconds=8.0, enough=0.95,
    leash=LEASH, drift=0.2,
)  # fmt: skip
"""How their controllers are chosen: a fast gait may need other costs than a slow one. Some let
a body drift off ever faster, which falls after ten seconds; fast gaits may lag."""
LEAST = 0.2
"""Fraction of bodies that the first gait ahead which ends a body's speeds does not hold; a body
of which standing holds less never stops stepping."""
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
        self.stands = stands[0].report.get("held", 1.0) >= LEAST
        """Whether the body can stand; else it steps on the spot."""

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
        clip: A motion file with a level walk; None: the suite's own plain walk, of users' own
            bodies `STEPS` alone.
        character: The body; its model's timestep is that of the physics.
        joints: Patterns of the joints that the balance controllers may move.
        control_dt: Duration of a control step, [s].
        frames: Part of the clip in which its cycle is found, "A:B"; all if None.

    Raises:
        MotionError: A clip that is no reference for this body, or a body of a user's own that
            falls at the slowest steps.
        ConfigError: A body with other legs.
    """
    options = (character, joints, control_dt)
    if clip is None and character.standing is not None:
        return _stepping_reference(options)
    legs = legs_of(character)
    pace = legs.pace
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
    still = made_cycle(standing_steps(character, posture), character)
    slow = [*_steps(SLOW, character, posture, mid), (STAND, still)]
    gaits = [gait_of(made, *options, label) for label, made in slow]
    for one in fast:
        gait = stabilized(one, *options, name)
        label = f"{one.report.speed:.2f}"
        gaits.append(replace(gait, table=_at_phases(gait.table), name=label))
    gaits.sort(key=_pace)
    return Reference.of(name, character, control_dt, gaits)


def _pace(gait: ReferenceMotion) -> float:
    """Speed of a gait, alike of all that stay in place, [m/s]."""
    return round(gait.table.speed, 3)


def _steps(
    rows: Sequence[tuple[float, float, float]],
    character: Character,
    posture: Floats,
    mid: float,
) -> Iterator[tuple[str, PreparedCycle]]:
    """Cycles of `rows` (`SLOW`) by leg IK, with their names; `mid` is the left mid-stance."""
    pace = legs_of(character).pace
    for speed, period, width in rows:
        cycle = stepping_cycle(
            character, posture, pace * speed, pace * period, mid, width=width
        )
        yield f"{pace * speed:.2f}", made_cycle(cycle, character)


def _stepping_reference(options: Options) -> Reference:
    """The gaits of a body of the user's own: `STEPS`, up to the first that topples it.

    Raises:
        MotionError: That is the slowest ahead.
    """
    character, _, control_dt = options
    gaits = stepping_gaits(options)
    if not any(gait.table.speed > 0.0 for gait in gaits):
        raise MotionError(
            f"{character.name} falls at the slowest steps ahead: its balance controller "
            "cannot walk"
        )
    return Reference.of("steps", character, control_dt, gaits)


def stepping_gaits(options: Options, *, slow: bool = False) -> list[ReferenceMotion]:
    """Standing and `STEPS` of a user's own body, by speed, up to the first that topples it.

    Their cycles are as long as pushes allow (`PERIODS`).

    Args:
        options: The body, and what its controllers move.
        slow: For a body that stays in place: the first three, whatever they hold.
    """
    character, joints, _ = options
    posture = standing_posture(character)
    still = made_cycle(standing_steps(character, posture, width=WIDE), character)
    stand = _held(gait_of(still, character, joints, None, STAND), options, STANDING)
    chosen: list[ReferenceMotion] = []
    period, best = PERIODS[0], -1.0
    for tried in PERIODS:
        gaits = [_stepping(row, tried, posture, options) for row in STEPS[:3]]
        mean = float(np.mean([gait.report["held"] for gait in gaits]))
        log.info("cycles of %g s: %.0f %% of the bodies stand", tried, 100.0 * mean)
        if mean > best:
            period, best, chosen = tried, mean, gaits
        if mean >= QUICK:
            break
    for row in () if slow else STEPS[3:]:
        if chosen[-1].report["held"] >= LEAST:
            chosen.append(_stepping(row, period, posture, options))
    if not slow and chosen[-1].report["held"] < LEAST:
        fast = chosen.pop()
        if chosen[-1].table.speed > 0.0:
            log.warning(
                "%s walks at up to %s m/s: at %s m/s it falls",
                character.name, chosen[-1].name, fast.name,
            )  # fmt: skip
    return sorted([stand, *chosen], key=_pace)


def _stepping(
    row: tuple[float, float], period: float, posture: Floats, options: Options
) -> ReferenceMotion:
    """The gait of one of `STEPS` with cycles of `period`, [s], and its controller."""
    character, joints, _ = options
    ((name, made),) = _steps([(row[0], period, row[1])], character, posture, LEFT)
    gait = gait_of(made, character, joints, None, name)
    trial = STEPS_TRIAL if row in STEPS[:3] else replace(STEPS_TRIAL, drift=np.inf)
    return _held(gait, options, trial)


def _held(gait: ReferenceMotion, options: Options, trial: Trial) -> ReferenceMotion:
    """A gait with the controller that holds most bodies in a trial, and which fraction."""
    character, joints, control_dt = options
    dofs, table = matching_dofs(character, joints), gait.table
    if not np.ptp(table.qpos, axis=0).any():
        rows = table.qpos[:1], table.qvel[:1], table.torque[:1]
        table = ReferenceTable(control_dt, np.zeros(3), *rows)
    try:
        steps = cycle_steps(character, table, dofs, control_dt=control_dt)
    except MotionError:  # it explodes beside the gait
        return replace(gait, report=gait.report | {"held": 0.0})
    controller, held = best_feedback(character, table, [steps], dofs, control_dt, trial)
    return replace(gait, controller=controller, report=gait.report | {"held": held})


def _at_phases(table: ReferenceTable) -> ReferenceTable:
    """`table` at `SAMPLES` phases, as the generated gaits have them."""
    time = np.arange(SAMPLES) / SAMPLES * table.period
    return ReferenceTable(table.period, table.stride, *table.at(time))
