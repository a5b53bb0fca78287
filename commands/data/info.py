"""`ambulo data info`: what motion files hold, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ambulo.commands.data.flags import InfoFlags, ReadingFlags
from ambulo.commands.data.inputs import (
    SOME_BAD,
    Choices,
    choices_of,
    motion_files,
    other_notes,
    rest_fault,
    shown_progress,
    unit_of,
)
from ambulo.common.errors import print_error
from ambulo.common.files import json_text, write_or_print
from ambulo.common.paths import resolve_path
from ambulo.common.tables import print_rows
from ambulo.configs.arrays import Floats
from ambulo.configs.errors import AmbuloError, ConfigError
from ambulo.motion.analysis import jumps, speed
from ambulo.motion.contacts import foot_contacts, foot_skate
from ambulo.motion.euler import quat_to_euler
from ambulo.motion.formats.tpose import tpose_frames
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.landmarks import has_feet
from ambulo.motion.motion import Motion
from ambulo.motion.roles import map_of, missing_roles
from ambulo.motion.roles.files import roles_file, write_roles
from ambulo.motion.rotations import quat_conjugate, quat_multiply

LIMIT_TOLERANCE = np.radians(0.5)
"""Excess of an angle over its limits that is ignored, [rad]."""
_LISTED = 8
"""Jumps and joints that the account of one file names."""


@dataclass(frozen=True)
class Excess:
    """A joint whose angles leave the limits of its skeleton."""

    joint: str
    """The joint's name."""
    share: float
    """Share of the frames in which they do."""
    worst_deg: float
    """How far, at most, [deg]."""


@dataclass(frozen=True)
class MotionInfo:
    """Contents of a file. Speeds, contacts and jumps are those after a made-up T-pose."""

    path: str
    """The file."""
    skeleton: str
    """The skeleton's name."""
    joints: int
    """Joints of the skeleton."""
    tips: int
    """Ends of fingers, toes and so on."""
    angles: int
    """Angles of all joints; with the root's place the degrees of freedom."""
    frames: int
    """Frames in the file."""
    fps: float
    """Frames per second, [Hz]."""
    duration_s: float
    """Time from the first to the last frame, [s]."""
    units: str
    """Unit of length, stated or guessed."""
    axes: str
    """Which axis is up, where the motion shows another than the format's; "" else."""
    rest_pose: str
    """Reason why the offsets are no standing body; "" if they are one."""
    chosen: Choices
    """Unit, axes and rest pose in words, and how well they fit a person."""
    notes: list[str]
    """Repairs and doubts."""
    roles_missing: list[str]
    """Roles of a person that no joint has: such limbs are not retargeted."""
    height_m: float
    """Highest less lowest point of the body, the middle of all frames, [m]."""
    speed_mean: float
    """Mean horizontal speed of the hips, [m/s]."""
    speed_max: float
    """The largest, [m/s]."""
    contact_left: float | None
    """Share of the frames in which the left foot stands; None: no feet are known."""
    contact_right: float | None
    """As `contact_left`, of the right foot."""
    foot_skate: float | None
    """Mean horizontal speed of standing feet, [m/s]."""
    tpose_frames: int
    """Leading frames of a made-up T-pose."""
    jumps: list[dict[str, str | int | float]]
    """Turns of more than 90 degrees in one frame: joint, frame, angle_deg."""
    limits_exceeded: list[Excess]
    """Joints that leave the skeleton's limits, the worst first."""


def info(flags: InfoFlags) -> int:
    """Describe; 0, or 1 when files of a folder are bad."""
    path = resolve_path(flags.path)
    if flags.save_map is not None and path.is_dir():
        raise ConfigError("--save-map takes one file, not a folder")
    strict = flags.strict or not path.is_dir()
    result, bad = [], []
    for file in shown_progress(motion_files(path)):
        try:
            result.append(describe(file, flags))
        except AmbuloError as error:
            if strict:
                raise
            bad.append(str(error))
            print_error(error)
    if flags.save_map is not None:
        skeleton = flags.read(path).motion.skeleton
        write_roles(flags.save_map, roles_file(map_of(skeleton), skeleton.joints))
    if flags.json is not None:
        data = {"files": [asdict(info) for info in result], "errors": bad}
        write_or_print(flags.json, json_text(data))
    elif path.is_dir():
        _print_table(result, path)
    else:
        _print_account(result[0])
    return SOME_BAD if bad else 0


def describe(path: Path, flags: ReadingFlags | None = None) -> MotionInfo:
    """Return the contents of the file `path`.

    Raises:
        AmbuloError: it cannot be used.
    """
    flags = flags or ReadingFlags()
    source = flags.read(path)
    motion = source.motion
    made_up = tpose_frames(motion)
    recorded = motion[made_up:]
    contacts = foot_contacts(recorded) if has_feet(motion.skeleton) else None
    left, right = (None, None) if contacts is None else contacts.mean(axis=0).tolist()
    speeds = speed(recorded)
    return MotionInfo(
        path=str(path),
        skeleton=motion.skeleton.name,
        joints=len(motion.skeleton),
        tips=len(motion.skeleton.tip_parents),
        angles=sum(len(order) for order in motion.skeleton.orders),
        frames=len(motion),
        fps=motion.fps,
        duration_s=motion.duration,
        units=unit_of(flags, path),
        axes=next((note for note in source.notes if note.startswith("axes")), ""),
        rest_pose=rest_fault(motion.skeleton),
        chosen=choices_of(flags, path, source),
        notes=other_notes(source.notes),
        roles_missing=list(missing_roles(motion.skeleton)),
        height_m=_height(recorded),
        speed_mean=float(speeds.mean()),
        speed_max=float(speeds.max()),
        contact_left=left,
        contact_right=right,
        foot_skate=None if contacts is None else foot_skate(recorded, contacts),
        tpose_frames=made_up,
        jumps=[asdict(jump) for jump in jumps(recorded)],
        limits_exceeded=limits_exceeded(recorded),
    )


def limits_exceeded(motion: Motion, tolerance: float = LIMIT_TOLERANCE) -> list[Excess]:
    """Joints whose angles leave their skeleton's limits, the worst first.

    Of the two triples of angles that are the same rotation, (a, b, c) and
    (a + pi, pi - b, c + pi), the one nearer to the limits counts.
    """
    skeleton = motion.skeleton
    result = []
    for joint, order in enumerate(skeleton.orders):
        limits = skeleton.limits[skeleton.angle_slices[joint]]
        if not order or np.all(np.abs(limits) >= np.pi - 1e-9):
            continue
        frame = skeleton.axes[joint]
        local = quat_multiply(
            quat_multiply(quat_conjugate(frame), motion.rotations[:, joint]), frame
        )
        angles = quat_to_euler(local, order)
        beyond = _beyond(angles, limits)
        if len(set(order)) == 3:
            turned = np.pi + angles * [1.0, -1.0, 1.0]
            beyond = np.minimum(beyond, _beyond(turned, limits))
        outside = beyond > tolerance
        if outside.any():
            fraction, worst = float(outside.mean()), float(np.degrees(beyond.max()))
            result.append(Excess(skeleton.joints[joint], fraction, worst))
    return sorted(result, key=lambda excess: -excess.worst_deg)


def _beyond(angles: Floats, limits: Floats) -> Floats:
    """How far the worst of the angles (T, n) is outside, [rad]. Shape (T,)."""
    wrapped = angles - 2.0 * np.pi * np.round(angles / (2.0 * np.pi))
    out = np.maximum(limits[:, 0] - wrapped, wrapped - limits[:, 1])
    return np.maximum(out.max(axis=1), 0.0)


def _height(motion: Motion) -> float:
    heights = joint_positions(motion)[..., 2]
    return float(np.median(np.ptp(heights, axis=1)))


def _print_table(found: Sequence[MotionInfo], folder: Path) -> None:
    frames = sum(info.frames for info in found)
    seconds = sum(info.duration_s for info in found)
    title = (
        f"{len(found)} files, {frames:,} frames, {seconds:,.1f} s; "
        "speed and slip in m/s, stands: share of left and right foot; "
        "jumps: over 90° in a frame; limits: joints beyond them"
    )
    heads = (
        "file", "joints", "frames", "fps", "s", "units", "T-pose", "speed", "max",
        "stands", "slip", "jumps", "limits",
    )  # fmt: skip
    rows = [
        (
            str(Path(info.path).relative_to(folder)),
            str(info.joints), str(info.frames), f"{info.fps:.5g}",
            f"{info.duration_s:.2f}", info.units, str(info.tpose_frames or "-"),
            f"{info.speed_mean:.2f}", f"{info.speed_max:.2f}", *_feet(info),
            str(len(info.jumps) or "-"), str(len(info.limits_exceeded) or "-"),
        )
        for info in found
    ]  # fmt: skip
    print_rows(title, heads, rows)


def _print_account(info: MotionInfo) -> None:
    """One file in full."""
    stands, slip = _feet(info)
    made_up = "none"
    if info.tpose_frames:
        made_up = f"{info.tpose_frames} leading frames (--drop-tpose leaves them out)"
    jumping = [
        f"{j['joint']} {j['angle_deg']:.0f}° at {j['frame']}" for j in info.jumps
    ]
    beyond = [
        f"{e.joint} up to {e.worst_deg:.0f}° in {100 * e.share:.0f} % of the frames"
        for e in info.limits_exceeded
    ]
    limbs = "all found"
    if info.roles_missing:
        limbs = f"not found: {', '.join(info.roles_missing)}"
    rows = (
        ("file", info.path),
        ("skeleton", f"{info.joints} joints, {info.tips} tips, {info.angles} angles"),
        ("frames", f"{info.frames} at {info.fps:.6g} fps, {info.duration_s:.2f} s"),
        ("units", info.chosen.units),
        ("axes", info.chosen.axes),
        ("rest pose", info.chosen.rest_pose),
        ("limbs", limbs),
        ("height", f"{info.height_m:.2f} m from lowest to highest joint"),
        ("speed", f"{info.speed_mean:.2f} m/s, at most {info.speed_max:.2f} m/s"),
        ("feet stand", f"{stands} (left, right), slip {slip} m/s"),
        ("T-pose", made_up),
        ("jumps", _listed(jumping)),
        ("beyond limits", _listed(beyond)),
        *(("note", note) for note in info.notes),
    )
    for name, text in rows:
        print(f"{name:<14} {text}")


def _feet(info: MotionInfo) -> tuple[str, str]:
    """Share of standing of both feet, and their slip, in words."""
    if info.contact_left is None or info.contact_right is None:
        return "-", "-"
    stands = f"{100 * info.contact_left:.0f}/{100 * info.contact_right:.0f} %"
    return stands, f"{info.foot_skate:.3f}"


def _listed(items: Sequence[str]) -> str:
    if not items:
        return "none"
    more = f" and {len(items) - _LISTED} more" if len(items) > _LISTED else ""
    return f"{len(items)}: {', '.join(items[:_LISTED])}{more}"
