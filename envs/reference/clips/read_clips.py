"""Clips from files and folders, as one reference."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ambulo.configs.errors import ConfigError, MotionError, MotionFileError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.cached import cached_reference
from ambulo.envs.reference.clips.clip_reference import clip_reference
from ambulo.envs.reference.clips.raw_clip import plain_clip, raw_clip
from ambulo.envs.reference.reference import (
    Reference,
    ReferenceMotion,
    is_reference,
    load_reference_for,
)
from ambulo.motion.formats.files import find_motions
from ambulo.motion.gaits.soles import with_level_soles
from ambulo.motion.operations import frames_of
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.retargeting.source import read_source

log = logging.getLogger(__name__)


def clip_files(paths: Sequence[str | Path]) -> list[Path]:
    """Motion files and references that `paths` name; folders stand for what lies in them.

    Raises:
        MotionFileError: There is no such file or folder, or a folder without any.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        if not path.is_dir():
            found.append(path)
            continue
        fitted = [file for file in path.rglob("*.npz") if is_reference(file)]
        inside = sorted({*find_motions(path), *fitted})
        if not inside:
            raise MotionFileError(path, 0, "is a folder without motion files")
        found += inside
    return found


def read_clips(
    paths: Sequence[str | Path],
    character: Character,
    control_dt: float,
    *,
    fit: bool = False,
    plain: bool = False,
    frames: str | None = None,
) -> Reference:
    """The clips in files and folders: fitted ones, or as captured if they are motion files.

    Args:
        paths: Motion files, references of clips or gaits, or folders of them.
        character: The body.
        control_dt: Duration of a control step, [s].
        fit: Make motion files feasible too; they are kept (`cached_reference`).
        plain: Leave motion files as they are (`plain_clip`), instead of planting and
            balancing them.
        frames: Part "A:B" of the one motion file, which is then shown as captured; None: all.

    Raises:
        ConfigError: `frames` of anything but one motion file, or no two numbers.
        MotionFileError: A file that cannot be read.
        MotionError: A motion that cannot be a clip of this body, or no clip at all.
    """
    gaits: list[ReferenceMotion] = []
    files = clip_files(paths)
    if frames is not None and (len(files) > 1 or fit or is_reference(files[0])):
        raise ConfigError(f"--frames {frames}: is for one motion file")
    for path in files:
        if is_reference(path):
            reference = load_reference_for(path, character)
            own = [
                replace(gait, name=gait.name or reference.name)
                for gait in reference.gaits
            ]
            gaits += own
            continue
        if fit:
            gaits += _fitted(path, character, control_dt).gaits
        else:
            source = read_source(path, drop_tpose=plain).logged()
            part = frames_of(source, frames)
            motion = retarget(source, character.skeleton, frames=part).motion
            motion = with_level_soles(motion, character.soles)
            if plain:
                table = plain_clip(motion, character)
            else:
                table = raw_clip(motion, character).table
            gaits.append(ReferenceMotion(table, None, {}, path.stem, table))
    usable = [gait for gait in gaits if not _falls(gait)]
    if not usable:
        raise MotionError("clips: there is none that the body can do")
    return Reference.of("clips", character, control_dt, usable)


def _falls(gait: ReferenceMotion) -> bool:
    """Whether the fit of a clip says that the body falls; logged."""
    time = gait.report.get("falls_at")
    if time is not None:
        log.warning(
            "clip %s: left out: the body falls at %.2f s of it", gait.name, time
        )
    return time is not None


def _fitted(path: Path, character: Character, control_dt: float) -> Reference:
    """A motion file as a feasible clip, made once."""
    key = ["clip", character.name, character.model.opt.timestep, control_dt]
    source = read_source(path)  # refused before it is said that fitting takes long

    def make() -> Reference:
        motion = source.logged()
        found = clip_reference(motion, character, control_dt=control_dt, bodies=0)
        return found.reference

    return cached_reference(
        key, str(path), make, takes="half a minute a second of clip"
    )
