"""From a motion of any kind to a reference that a body can follow, and what became of it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from ambulo.configs.arrays import Bools
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.registry import load_character
from ambulo.envs.reference.clips.fit import Fitted, Progress, fit
from ambulo.envs.reference.clips.raw_clip import RawClip, raw_clip
from ambulo.envs.reference.clips.support import (
    MissingSupport,
    missing_support,
    too_fast,
)
from ambulo.envs.reference.clips.survival import (
    FALLEN_HEIGHT,
    FALLEN_TILT,
    PERSON,
    STANDARD,
    survival,
)
from ambulo.envs.reference.joint_positions import (
    motion_of_positions,
    qpos_of,
)
from ambulo.envs.reference.reference import Reference, ReferenceMotion
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.simulation.tangent import Tangent
from ambulo.motion.clip_checks import checked_part
from ambulo.motion.gaits.soles import with_level_soles
from ambulo.motion.landmarks import body_points
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.roles import role_map
from ambulo.motion.roles.finder import FOUR_LEGS

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class ClipReference:
    """A fitted clip."""

    reference: Reference
    """What tasks follow."""
    clip: Motion
    """The clip on the body, where its ground was found, before feet were planted and it was
    balanced; at the rate of the control steps."""
    body: Motion
    """What the body does, at the same times."""
    falls_at: float | None
    """When the body falls, [s]; None if it does the whole clip."""
    needs: tuple[MissingSupport, ...]
    """Where the clip needs a force that the ground does not give."""
    first: int
    """The frame of its file at which the clip begins."""
    fps: float
    """Frames per second of its file, [Hz]."""

    def frame(self, seconds: float) -> int:
        """The frame of the file at `seconds` of the clip."""
        return self.first + round(seconds * self.fps)

    @property
    def report(self) -> dict[str, float]:
        """Numbers about it, as in the reference's file."""
        return self.reference.report


def fitted_body(name: str) -> Character:
    """The body that clips are fitted to: as the task `track` has it.

    Raises:
        ConfigError: No such character, or one that cannot be used.
    """
    character = load_character(name)
    config = LocomotionEnvironmentConfig(task="track", character=name)
    if (
        character.standing is not None
    ):  # the suite's have the physics step of their models
        character.model.opt.timestep = config.control_dt / config.substeps
    return character


def clip_reference(
    motion: Motion,
    character: Character,
    *,
    control_dt: float = LocomotionEnvironmentConfig().control_dt,
    bodies: int = 40,
    seed: int = 0,
    frames: str | None = None,
    progress: Progress | None = None,
) -> ClipReference:
    """Fit a clip to a body and test its feedback.

    Args:
        motion: On any skeleton that can be retargeted.
        character: The body, driven by motors.
        control_dt: Duration of a control step, [s].
        bodies: How many are disturbed in each test of the feedback; 0 for no test.
        seed: Of the tests.
        frames: Part of the motion that is fitted, "A:B"; all if None.
        progress: Told of control steps done and all.

    Raises:
        MotionError: A clip with faults that cannot be mended (`ambulo.motion.clip_checks`),
            too long, or not to be retargeted.
        ConfigError: `frames` are not two numbers.
    """
    part = checked_part(motion, frames)
    on_body = part.clip
    if not _is_of(part.whole, character):
        on_body = retarget(part.whole, character.skeleton, frames=part.frames).motion
        on_body = with_level_soles(on_body, character.soles)
    raw = raw_clip(on_body, character)
    fast = too_fast(on_body, character)
    if fast is not None:
        log.warning("%s: %s", motion.label, fast)
    fitted = fit(character, raw.table, control_dt=control_dt, progress=progress)
    every = round(control_dt / character.model.opt.timestep)
    count = len(fitted.table.qpos)
    clip, body = (
        motion_of_positions(
            qpos[:count:every], character.model, character.skeleton, 1.0 / control_dt
        )
        for qpos in (qpos_of(raw.lifted, character.model), fitted.table.qpos)
    )
    fell = _fallen(fitted, raw, character)[::every]
    falls_at = float(np.argmax(fell) * control_dt) if fell.any() else None
    report = _report(clip, body, raw, fitted)
    if falls_at is not None:
        report["falls_at"] = falls_at
    if falls_at is None and bodies:
        own = "" if character.standing is None else f" for {PERSON:g} kg"
        for disturbance in STANDARD:
            name = disturbance.name + own * (disturbance.impulse > 0.0)
            report[f"survives {name}"] = survival(
                character, fitted.table, fitted.controller, disturbance,
                control_dt=control_dt, bodies=bodies, seed=seed,
            )  # fmt: skip
    name = motion.label
    captured = _until(raw.table, count)
    gait = ReferenceMotion(fitted.table, fitted.controller, report, name, captured)
    reference = Reference.of(name, character, control_dt, [gait])
    needs = missing_support(raw, motion.fps, part.first)
    return ClipReference(reference, clip, body, falls_at, needs, part.first, motion.fps)


def _is_of(motion: Motion, character: Character) -> bool:
    """Whether a clip is one of the body itself, on four legs: no person's rules apply."""
    own, given = character.skeleton, motion.skeleton
    return (
        role_map(own).refusal == FOUR_LEGS
        and (own.joints, own.parents) == (given.joints, given.parents)
        and np.allclose(own.offsets[1:], given.offsets[1:], atol=1e-4)
        and np.allclose(own.rest[1:], given.rest[1:], atol=1e-4)
    )


def _until(table: ReferenceTable, count: int) -> ReferenceTable:
    """The first `count` states of a clip."""
    dt = table.period / (len(table.qpos) - 1)
    return replace(
        table,
        period=(count - 1) * dt,
        qpos=table.qpos[:count],
        qvel=table.qvel[:count],
        torque=table.torque[:count],
    )


def _fallen(fitted: Fitted, raw: RawClip, character: Character) -> Bools:
    """At which physics steps the body lies low or is turned beside the clip. (T,)."""
    done = fitted.table.qpos
    apart = Tangent(character.model).difference(
        done, raw.table.qpos[: len(done)].copy()
    )
    low = np.abs(apart[:, 2]) > FALLEN_HEIGHT
    return np.asarray(low | (np.linalg.norm(apart[:, 3:6], axis=1) > FALLEN_TILT))


def _report(
    clip: Motion, body: Motion, raw: RawClip, fitted: Fitted
) -> dict[str, float]:
    """How far the body is from the clip."""
    wanted, done = body_points(clip), body_points(body)
    apart = np.linalg.norm(done - wanted, axis=-1)
    own = (done - done[:, :1]) - (wanted - wanted[:, :1])
    place = np.linalg.norm(body.root_positions - clip.root_positions, axis=1)
    return {
        "duration": fitted.table.period,
        "error_world": float(apart.mean()),
        "error_local": float(np.linalg.norm(own, axis=-1)[:, 1:].mean()),
        "root_deviation": float(place.max()),
        "balance_shift": float(np.linalg.norm(raw.shift, axis=1).mean()),
        "residual_force": float(np.sqrt(np.square(raw.residual).mean())),
        "offset": float(np.abs(fitted.offsets).max()),
        "peak_torque": float(np.abs(fitted.table.torque).max()),
    }
