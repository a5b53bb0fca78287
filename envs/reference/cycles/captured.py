"""The cycle of a captured clip on a body, and what the clip is like where it is from."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.motion.analysis import joint_velocities, movement_text, spans
from ambulo.motion.clip_checks import checked_part
from ambulo.motion.gaits.cycle import (
    HARMONICS,
    Cycle,
    along_x,
    check_cycle,
    find_cycle,
    periodic,
    straightened,
)
from ambulo.motion.gaits.healthy_walk import healthy_walk
from ambulo.motion.gaits.plain_walk import plain_walk
from ambulo.motion.gaits.soles import STANCE_SHARE
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.retargeting.source import read_source
from ambulo.motion.roles import SIDES, roles_of
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

log = logging.getLogger(__name__)

CYCLES = 4
"""Cycles of the suite's walk that are retargeted."""
FINE = 60.0
"""Clips of a lower rate are interpolated to a multiple above it, [Hz]: a cycle may then begin
and end between their frames."""


@dataclass(frozen=True)
class CapturedFoot:
    """A foot of a clip where it is slowest in a cycle: `STANCE_SHARE` of the frames."""

    side: str
    """"left" or "right"."""
    slide: float
    """Mean horizontal speed of ankle and toes, in the body's scale, [m/s]."""
    first: int
    """First frame of the longest time in which it is that slow, in the file."""
    last: int
    """Last frame of it."""


@dataclass(frozen=True, eq=False)
class CapturedCycle:
    """A cycle and the frames that it is made of."""

    cycle: Cycle
    """The movement on the body, along +X, seamless, smooth; not yet on the ground."""
    name: str
    """The clip's name."""
    first: int
    """First frame of the cycle in the file."""
    last: int
    """One past its last frame."""
    feet: tuple[CapturedFoot, ...]
    """Both feet in the file; none where the skeleton has none."""

    @property
    def slide(self) -> float:
        """Mean slide of both feet where they are slowest, [m/s]; 0 without feet."""
        return float(np.mean([foot.slide for foot in self.feet])) if self.feet else 0.0

    def text(self) -> str:
        """The frames and the movement, in words."""
        return f"{self.name}: {cycle_text(self.first, self.last, self.cycle.motion())}"


def cycle_text(first: int, last: int, motion: Motion) -> str:
    """The frames `first` to `last` of a file, of which `motion` was made, in words."""
    seconds = motion.duration + 1.0 / motion.fps
    return f"frames {first}:{last}, a cycle of {seconds:.2f} s; {movement_text(motion)}"


def source_cycle(
    clip: str | Path | Motion | None, skeleton: Skeleton, **options: Any
) -> tuple[Cycle, str, CapturedCycle | None]:
    """The cycle of a clip, or the suite's own walk if None; its name; where it is from.

    Skeletons like human23 have the plain walk, others the healthy one, retargeted.

    Args:
        clip: As of `captured_cycle`.
        skeleton: The body's.
        **options: As of `captured_cycle`.
    """
    if clip is None and skeleton.same_tree(load_skeleton("human23")):
        return plain_walk(skeleton), "plain walk", None
    if clip is None:
        clip = healthy_walk().motion(CYCLES).replace(name="healthy walk")
        options = {"standing": False}
    found = captured_cycle(clip, skeleton, **options)
    log.info("%s", found.text())
    return found.cycle, found.name, found


def captured_cycle(
    clip: str | Path | Motion,
    skeleton: Skeleton,
    *,
    frames: str | None = None,
    standing: bool = False,
    harmonics: int = HARMONICS,
) -> CapturedCycle:
    """The cycle of a clip that closes best, on `skeleton`.

    Args:
        clip: A motion file of any kind that is read, or a motion.
        skeleton: The body's.
        frames: Part of the clip in which the cycle is, "A:B"; all if None.
        standing: Take a cycle that hardly moves in a clip that does.
        harmonics: Harmonics of the movement that are kept.

    Raises:
        MotionError: A clip that cannot be used, or has no cycle (a file's is a
            `MotionFileError`).
        ConfigError: `frames` are not two numbers.
    """
    whole = clip if isinstance(clip, Motion) else read_source(clip).logged()
    part = checked_part(whole, frames)
    source, first = part.clip, part.first
    done = retarget(part.whole, skeleton, frames=part.frames)
    finer = max(1, int(np.ceil(FINE / source.fps)))
    on_body = resample(done.motion, finer * source.fps) if finer > 1 else done.motion
    turned = along_x(on_body)
    found = find_cycle(turned)
    start, stop = found.start // finer, -(-found.stop // finer)
    if not standing:
        check_cycle(turned, found, first, finer)
    return CapturedCycle(
        periodic(straightened(turned, found), found, harmonics),
        whole.label,
        first + start,
        first + stop,
        _feet(source[start:stop], done.scale, first + start),
    )


def _feet(motion: Motion, scale: float, first: int) -> tuple[CapturedFoot, ...]:
    """Both feet of a clip's cycle, which begins at the frame `first` of its file."""
    roles = roles_of(motion.skeleton)
    speeds = scale * np.linalg.norm(joint_velocities(motion)[..., :2], axis=-1)
    feet = []
    for side in SIDES:
        names = [f"{side}_{part}" for part in ("foot", "toe")]
        joints = [roles[name] for name in names if name in roles]
        if not joints:
            return ()
        speed = speeds[:, joints].mean(axis=1)
        slow = speed <= np.quantile(speed, STANCE_SHARE)
        start, stop = max(spans(slow), key=lambda span: span[1] - span[0])
        slide = float(speed[slow].mean())
        feet.append(CapturedFoot(side, slide, first + start, first + stop - 1))
    return tuple(feet)
