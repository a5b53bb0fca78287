"""Faults of captured clips, in words that name the frames, and their automatic repair.

For clips that a simulated body should follow on level ground, on any skeleton, before they are
retargeted. Not for file syntax (`ambulo.motion.formats`), nor for the limits of a body
(`ambulo.envs.reference`). Thresholds are justified by human movement and by 1,408 clips of the
CMU data base and its conversions (`docs/clips.md`).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import median_filter

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.analysis import spans
from ambulo.motion.contacts import foot_contacts
from ambulo.motion.formats.tpose import tpose_frames
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.landmarks import body_points, carrier, foot_points, has_feet
from ambulo.motion.motion import Motion
from ambulo.motion.operations import frames_of, sample
from ambulo.motion.roles import SIDES, roles_of

log = logging.getLogger(__name__)

MIN_SECONDS = 0.5
"""Shortest clip, [s]: a fast runner's cycle."""
MIN_FPS, FULL_FPS = 5.0, 20.0
"""Rates, [Hz]: below the first a step of 0.4 s may lie between two frames; below the second a
foot strike may, whose speed is then that of the straight line between frames."""
ROOT_JUMP, ROOT_ACCELERATION = 0.10, 100.0
"""A root jumps if one step is longer than its neighbours by the first, [m], plus the distance
from the second in a frame, [m/s^2]: ten times gravity, where gymnasts' landings have seven at
the hips."""
LIMB_JUMP, LIMB_ACCELERATION = 0.30, 400.0
"""The same thresholds for hands and feet relative to the root: pitchers' hands and kicking feet
change their velocity by less, in a frame of 1/24 s too."""
ALONE = 0.5
"""Largest sum of other jumps nearby, over a jump: a fast movement has many large steps."""
RETURNED = 0.3
"""Largest distance from the start at the end of a spike, over the jump."""
NEARBY = 0.1
"""Half the time window of a step's comparison, and longest repaired spike, [s]."""
SWAPPED, SWAP_LENGTH = 0.25, 0.3
"""Hands (or feet) are exchanged if paths to the other's position are shorter than their own by
this factor, and their own longer than this, [m]."""
SUNK, DEEP = 0.1, 0.2
"""Depths of a foot under the ground, [m]: the first is reported, the second cannot be corrected
by lifting the body (as the retargeting does)."""
LYING_HEIGHT, LYING_TILT, LYING_SECONDS = (0.45, 0.65), (0.5, 0.1), 0.3
"""A person lies if the hips are lower than this over the lowest point, in legs' lengths, and
the upright component of the trunk is smaller than this, for longer than this, [s]: either low
and tilted, or less low (files with a wrong ground height) and level."""
_FLOOR = 0.08
"""Height range of contacts on one floor, [m]."""
_LEG = {f"{side}_{part}" for side in SIDES for part in ("thigh", "shin", "foot")}


@dataclass(frozen=True)
class ClipFault:
    """A fault in frames of a clip, counted from 0 in its file."""

    first: int
    """The first frame."""
    last: int
    """The last frame."""
    text: str
    """Description of the fault, and the remedy if it is not repaired."""
    mended: bool
    """Whether `checked_clip` repairs it, or it is harmless; otherwise the clip is refused."""

    def __str__(self) -> str:
        """The frames and the description."""
        where = f"frame {self.first}"
        if self.last > self.first:
            where = f"frames {self.first} to {self.last}"
        return f"{where}: {self.text}"


@dataclass(frozen=True, eq=False)
class CheckedPart:
    """A usable part of a clip, and the clip in which it is retargeted."""

    clip: Motion
    """The repaired part."""
    first: int
    """The first frame in its file."""
    whole: Motion
    """The repaired whole clip; the part alone if the rest cannot be repaired."""
    frames: slice
    """The part in the whole."""


def checked_part(motion: Motion, frames: str | None = None) -> CheckedPart:
    """The repaired frames "A:B" of a clip; repairs are logged.

    Raises:
        MotionError: The part has an irreparable fault, or the clip has no such frames.
        ConfigError: `frames` are not two numbers.
    """
    rows = frames_of(motion, frames)
    clip = checked_clip(motion[rows], rows.start)
    first = rows.stop - len(clip)
    if rows.stop - rows.start < len(motion):
        whole, faults = mended_clip(motion)
        start = first - (len(motion) - len(whole))
        if start >= 0 and all(fault.mended for fault in faults):
            return CheckedPart(clip, first, whole, slice(start, start + len(clip)))
    return CheckedPart(clip, first, clip, slice(0, len(clip)))


def checked_clip(motion: Motion, first: int = 0) -> Motion:
    """Return `motion` repaired; repairs are logged.

    Args:
        motion: A clip.
        first: Its first frame in the file.

    Raises:
        MotionError: The clip has an irreparable fault.
    """
    mended, faults = mended_clip(motion, first)
    for fault in faults:
        if not fault.mended:
            raise MotionError(f"{motion.label}: {fault}")
    for fault in faults:
        log.warning("%s: %s", motion.label, fault)
    return mended


def mended_clip(motion: Motion, first: int = 0) -> tuple[Motion, tuple[ClipFault, ...]]:
    """A clip without spikes and synthetic T-pose, and its faults; arguments as above.

    Irreparable faults come first, then by frames.
    """
    faults: list[ClipFault] = []
    made_up = tpose_frames(motion)
    if 0 < made_up < len(motion):
        text = "a T-pose that was never recorded; left out"
        faults.append(ClipFault(first, first + made_up - 1, text, mended=True))
        motion, first = motion[made_up:], first + made_up
    short = _too_short(motion, first)
    if short:
        return motion, (short, *faults)
    motion, jumps = _without_jumps(motion, first)
    points, roles = body_points(motion), roles_of(motion.skeleton)
    swaps = _exchanged(points, roles, first)
    known = {fault.first for fault in swaps}
    faults += swaps + [fault for fault in jumps if fault.first not in known]
    faults += _slow(motion, first)
    if has_feet(motion.skeleton):
        faults += _sunk(motion, points, first) + _lying(motion, points, roles, first)
    faults.sort(key=lambda fault: (fault.mended, fault.first))
    return motion, tuple(faults)


def ground_height(motion: Motion, points: Floats | None = None) -> float:
    """Height of the ground on which a clip stands, [m]: the low end of its feet in contact.

    Args:
        motion: A motion with feet.
        points: Its points (`body_points`), if computed already.
    """
    low = lowest_feet(motion, body_points(motion) if points is None else points)
    contacts = foot_contacts(motion)
    touching = low[contacts] if contacts.any() else low.ravel()
    floor = np.percentile(touching, 15.0)
    return float(np.median(touching[np.abs(touching - floor) < _FLOOR]))


def lowest_feet(motion: Motion, points: Floats) -> Floats:
    """Height of the lowest of `points` (T, P, 3) of each foot, [m]. Shape (T, 2)."""
    feet = [foot_points(motion.skeleton, side) for side in SIDES]
    return np.stack([points[:, foot, 2].min(axis=1) for foot in feet], axis=1)


def _too_short(motion: Motion, first: int) -> ClipFault | None:
    if motion.duration >= MIN_SECONDS:
        return None
    text = (
        f"{motion.duration:.2f} s at {motion.fps:g} fps; a clip to follow lasts "
        f"{MIN_SECONDS:g} s or more"
    )
    return ClipFault(first, first + len(motion) - 1, text, mended=False)


def _slow(motion: Motion, first: int) -> list[ClipFault]:
    """Report a rate at which foot strikes are lost."""
    if motion.fps >= FULL_FPS:
        return []
    enough = motion.fps >= MIN_FPS
    text = f"{motion.fps:g} fps: " + (
        "what is fast is cut short between frames; taken as it is"
        if enough
        else f"too few to follow; expected {MIN_FPS:g} or more"
    )
    return [ClipFault(first, first + len(motion) - 1, text, mended=enough)]


def _without_jumps(motion: Motion, first: int) -> tuple[Motion, list[ClipFault]]:
    """`motion` with short spikes interpolated, and all its jumps."""
    faults: list[ClipFault] = []
    for name, path in _paths(motion).items():
        sizes = _jumps(path, motion.fps, root=name == "root")
        done = 0
        for step in np.flatnonzero(sizes).tolist():
            if step < done:
                continue
            size = float(sizes[step])
            back = _return(path, step, size, motion.fps)
            if back is not None:
                motion, done = _interpolated(motion, step, back), back
                text = f"the {name} jumps by {size:.2f} m and back; interpolated"
                faults.append(
                    ClipFault(first + step + 1, first + back - 1, text, mended=True)
                )
                continue
            text = (
                f"the {name} jumps by {size:.2f} m between them; choose frames on one side "
                "with --frames A:B"
            )
            faults.append(ClipFault(first + step, first + step + 1, text, mended=False))
    return motion, faults


def _return(path: Floats, step: int, size: float, fps: float) -> int | None:
    """The frame in which `path` (T, 3) is back from a jump after the frame `step`."""
    longest = max(1, round(NEARBY * fps))
    after = path[step + 2 : step + 2 + longest]
    near = np.linalg.norm(after - path[step], axis=1) < RETURNED * size
    return step + 2 + int(near.argmax()) if near.any() else None


def _paths(motion: Motion) -> dict[str, Floats]:
    """Paths (T, 3) of the root in the world, and of hands and feet relative to it, [m]."""
    places, roles = motion_kinematics(motion)[0], roles_of(motion.skeleton)
    body = places[:, carrier(motion.skeleton, places)]
    limbs = [f"{side}_{limb}" for limb in ("foot", "hand") for side in SIDES]
    return {"root": body} | {
        limb.replace("_", " "): places[:, roles[limb]] - body
        for limb in limbs
        if limb in roles
    }


def _jumps(path: Floats, fps: float, *, root: bool) -> Floats:
    """Sizes of the jumps of `path` (T, 3), [m]; 0 for other steps. Shape (T - 1,)."""
    least = ROOT_JUMP if root else LIMB_JUMP
    gained = ROOT_ACCELERATION if root else LIMB_ACCELERATION
    steps = np.diff(path, axis=0)
    size = 2 * max(2, round(NEARBY * fps)) + 1
    usual = np.stack(
        [median_filter(axis, size=size, mode="nearest") for axis in steps.T], axis=1
    )
    beyond: Floats = np.linalg.norm(steps - usual, axis=1)
    large = beyond > max(least, gained / fps**2)
    for step in np.flatnonzero(large):
        # A spike has two large steps; a fast movement has more.
        around = np.sort(beyond[max(0, step - size // 2) : step + size // 2 + 1])
        large[step] = len(around) < 3 or around[-3] < ALONE * beyond[step]
    return np.where(large, beyond, 0.0)


def _interpolated(motion: Motion, start: int, stop: int) -> Motion:
    """`motion` with the frames between `start` and `stop` interpolated."""
    ends = [start, stop]
    offsets = motion.joint_offsets
    pair = motion.replace(
        root_positions=motion.root_positions[ends],
        rotations=motion.rotations[ends],
        joint_offsets=None if offsets is None else offsets[ends],
    )
    count = stop - start
    between = sample(pair, np.arange(1, count) / count, motion.fps)

    def filled(values: Floats, inner: Floats) -> Floats:
        out = values.copy()
        out[start + 1 : stop] = inner
        return out

    return motion.replace(
        root_positions=filled(motion.root_positions, between.root_positions),
        rotations=filled(motion.rotations, between.rotations),
        joint_offsets=None
        if offsets is None or between.joint_offsets is None
        else filled(offsets, between.joint_offsets),
    )


def _exchanged(points: Floats, roles: dict[str, int], first: int) -> list[ClipFault]:
    """Report left and right exchanged, in the whole clip or from one frame on."""

    def pair(limb: str) -> Floats | None:
        names = [f"{side}_{limb}" for side in SIDES]
        if not set(names) <= set(roles):
            return None
        return points[:, [roles[name] for name in names]]

    faults = []
    arms, thighs = pair("upper_arm"), pair("thigh")
    if arms is not None and thighs is not None:
        across = ((arms[:, 0] - arms[:, 1]) * (thighs[:, 0] - thighs[:, 1])).sum(axis=1)
        if np.median(across) < 0.0:
            text = "the left shoulder is right of the right one: arms are exchanged"
            faults.append(ClipFault(first, first + len(points) - 1, text, mended=False))
    for limb in ("hand", "foot"):
        ends = pair(limb)
        if ends is None:
            continue
        own = np.linalg.norm(np.diff(ends, axis=0), axis=-1).sum(axis=1)
        other = np.linalg.norm(ends[1:] - ends[:-1, ::-1], axis=-1).sum(axis=1)
        for step in np.flatnonzero((own > SWAP_LENGTH) & (other < SWAPPED * own)):
            text = (
                f"left and right {limb} exchange places between them; choose frames on one "
                "side with --frames A:B"
            )
            at = first + int(step)
            faults.append(ClipFault(at, at + 1, text, mended=False))
    return faults


def _sunk(motion: Motion, points: Floats, first: int) -> list[ClipFault]:
    """Report feet far under the ground of the clip."""
    depths = ground_height(motion, points) - lowest_feet(motion, points)
    deep = depths.max(axis=1)
    frame = int(deep.argmax())
    depth = float(deep[frame])
    if depth <= SUNK:
        return []
    side = SIDES[int(depths[frame].argmax())]
    text = f"the {side} foot is {depth:.2f} m under the ground of the clip"
    if depth <= DEEP:
        text += "; lifted"
    else:
        text += (
            ": lost markers, or it steps down from something; bodies have one level ground: "
            "choose other frames with --frames A:B"
        )
    at = first + frame
    return [ClipFault(at, at, text, mended=depth <= DEEP)]


def _lying(
    motion: Motion, points: Floats, roles: dict[str, int], first: int
) -> list[ClipFault]:
    """Report a person that lies, or hangs level."""
    if "head" not in roles or not set(roles) >= _LEG:
        return []
    hips = points[:, [roles[f"{side}_thigh"] for side in SIDES]].mean(axis=1)
    trunk = points[:, roles["head"]] - hips
    upright = trunk[:, 2] / np.maximum(np.linalg.norm(trunk, axis=1), 1e-9)
    leg = points[:, [roles[name] for name in ("left_thigh", "left_shin", "left_foot")]]
    length = float(np.linalg.norm(np.diff(leg, axis=1), axis=-1).sum(axis=1).mean())
    height = hips[:, 2] - points[..., 2].min(axis=1)
    lies = np.zeros(len(motion), np.bool_)
    for most, tilt in zip(LYING_HEIGHT, LYING_TILT, strict=True):
        lies |= (height < most * length) & (upright < tilt)
    faults = []
    for start, stop in spans(lies):
        if stop - start <= LYING_SECONDS * motion.fps:
            continue
        text = (
            f"the person lies (hips {height[start:stop].min():.2f} m over the lowest point); "
            "bodies here stand on their feet: choose other frames with --frames A:B"
        )
        faults.append(ClipFault(first + start, first + stop - 1, text, mended=False))
    return faults
