"""`ambulo ik extract`: the poses of clips, as a file to train on."""

from __future__ import annotations

import sys

import numpy as np

from ambulo.commands.ik.flags import ExtractFlags
from ambulo.common.console import shown
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import IKError
from ambulo.ik.data.extract import FAR, Extraction, extract
from ambulo.ik.data.pose_data import check_poses, save_poses, still_joints
from ambulo.ik.rig import load_rig
from ambulo.motion.datasets.clips import scan_clips
from ambulo.train.shared.jobs import workers_of


def extract_poses(flags: ExtractFlags) -> int:
    """Extract poses."""
    target = resolve_path(flags.out)
    rig = load_rig(flags.rig)
    folders = [resolve_path(folder) for folder in flags.motions]
    clips, errors = scan_clips(folders, flags.strict, check=False)
    if not clips:
        raise IKError(f"{', '.join(map(str, folders))}: no motion files")
    result = extract(
        clips, rig, flags.fps, step=flags.step, progress=shown(clips, "extracting"),
        strict=flags.strict, cached=not flags.no_cache,
        axes=flags.axes, rest_pose=flags.rest_pose or "auto",
        apply=workers_of(flags, [clip.path for clip in clips[:1]]).in_order,
    )  # fmt: skip
    unique = check_poses(result.data, rig, flags.least)
    save_poses(target, result.data)
    print(described(result, unique))
    stiff = still_joints(rig, result.data.pose)
    if stiff:
        print(f"joints that never turn: {', '.join(stiff)}")
    for error in dict.fromkeys(map(str, (*errors, *result.errors))):
        print(f"not used: {error}", file=sys.stderr)
    print(f"written: {target}")
    return 0


def described(found: Extraction, unique: int) -> str:
    """Return the summary that is printed."""
    clips = found.data.header.clips
    return (
        f"{len(clips)} clips of {len({clip.subject for clip in clips})} people, "
        f"{found.frames} frames at {found.data.header.fps:g} Hz, {len(found.data)} poses "
        f"kept, {unique} unique\n"
        f"left out: {sum(found.left_out.values())} frames of {len(found.left_out)} clips "
        f"with a joint more than {np.rad2deg(FAR):.0f} deg outside its limits"
        f"{most_of(found.left_out)}\n"
        f"limits: {100 * found.clamped:.1f} % of the others "
        f"({100 * found.joints_clamped:.2f} % of joints) were outside, "
        f"by {found.mean_degrees:.1f} deg on average "
        f"(most: {found.worst[0]}, {found.worst[1]:.0f} deg); clamping moved the joints of "
        f"such a frame by {100 * found.moved:.2f} cm on average"
    )


def most_of(left_out: dict[str, int]) -> str:
    """The three clips that lose most frames."""
    most = sorted(left_out.items(), key=lambda item: -item[1])[:3]
    shown = ", ".join(f"{name} {count}" for name, count in most)
    return f" (most: {shown})" if shown else ""
