"""Retargeting of files of other programs: errors against the joints of the source.

Clips are written as other programs write them (names, trees, rest poses or offsets that are no
pose, axes, units, Euler orders, channels: `tests/fixtures/rigs.py`), read again and retargeted
onto a body of their lengths. The clips are walks of the suite's own generator, and `--clips` of
yours. Reported, for each convention and over all clips, independent of the suite's own error:

* the mean distance of joints from where the source's are, and that of the worst joint, [cm];
* the mean rotation from the source's, but for a constant, and that of the worst joint, [deg];
* the mean and worst difference of world orientations from those of the same clip in our own
  convention, [deg]: constants count (head, hands, toes have no zero where the file has none).
  Rotations of limbs whose half turns were undone (`untwisted`) are left out and listed;
* or the line with which it is refused.

    python benchmarks/motion_rigs.py --clips 02_01.amc
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _harness import run

import ambulo
from ambulo.configs.errors import AmbuloError
from ambulo.motion.formats.files import read_motion
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.retarget import Retargeted, retarget
from ambulo.motion.retargeting.source import Source, read_source
from ambulo.motion.roles import roles_of
from ambulo.motion.rotations import quat_angle
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from fixtures.rig_accuracy import Accuracy, accuracy
from fixtures.rigs import MAKERS, REFUSED, Maker, write_as

POSITION_CM, ROTATION_DEG = 0.5, 2.0
"""Largest mean errors that are allowed on a body of the source's lengths."""
MAX_FRAMES = 600
"""Frames that are taken of a clip."""


def clips_of(paths: Sequence[Path], count: int) -> dict[str, Motion]:
    """Generated walks, `count` of them, and the clips of `paths`."""
    network = ambulo.load("gait_net")
    walks: dict[str, dict[str, float]] = {
        "walk": {}, "long steps": {"stride": 1.2}, "quick": {"cadence": 1.15},
    }  # fmt: skip
    clips = {
        name: network.walk(cycles=3, **settings)
        for name, settings in list(walks.items())[:count]
    }
    for path in paths:
        motion = read_motion(path, drop_tpose=True)
        clips[path.stem] = motion[:: max(1, round(motion.fps / 30.0))][:MAX_FRAMES]
    return clips


def mapped(source: Motion | Source, target: Skeleton, ground: bool) -> Retargeted:
    """The motion on the target with its source's lengths."""
    return retarget(source, target, fit_lengths=True, ground=ground)


def of_maker(
    maker: Maker, clips: dict[str, Motion], target: Skeleton, ground: bool
) -> dict[str, Any]:
    """Errors of all clips in one convention, or why it is refused."""
    found: list[Accuracy] = []
    angles: list[np.ndarray] = []
    notes, undone = "", set[str]()
    with tempfile.TemporaryDirectory() as folder:
        for truth in clips.values():
            path = Path(folder) / "clip.bvh"
            write_as(path, truth, maker)
            try:
                source = read_source(path)
                done = mapped(source, target, ground)
            except AmbuloError as error:
                return {"refused": str(error).replace(f"{path}: ", "")}
            own = mapped(truth, target, ground)
            turned = {*done.untwisted, *own.untwisted}
            undone |= turned
            notes = source.note
            found.append(accuracy(truth, done.motion, without=turned))
            both = [motion_kinematics(each.motion)[1] for each in (done, own)]
            roles = roles_of(done.motion.skeleton)
            kept = [joint for role, joint in roles.items() if role not in turned]
            angles.append(np.rad2deg(quat_angle(*both)).mean(axis=0)[kept])
    return {
        "position_cm": float(np.mean([each.position for each in found])),
        "worst_cm": max(max(each.positions_cm.values()) for each in found),
        "rotation_deg": float(np.mean([each.rotation for each in found])),
        "worst_deg": max(max(each.rotations_deg.values()) for each in found),
        "orientation_deg": float(np.mean(np.concatenate(angles))),
        "worst_orientation_deg": float(np.max(np.concatenate(angles))),
        "half_turns_undone": sorted(undone),
        "chosen": notes,
    }


def measure(
    clips: tuple[Path, ...] = (),
    walks: int = 3,
    targets: tuple[str, ...] = ("human23", "ik23"),
    ground: bool = False,
) -> dict[str, Any]:
    """Errors on a body of the source's lengths; `ground` sets its feet on the ground."""
    motions = clips_of(clips, walks)
    result: dict[str, Any] = {"clips": list(motions)}
    refused = [maker for maker, _ in REFUSED]
    for group, makers in (("read", MAKERS), ("refused", refused)):
        result[group] = {
            name: {
                maker.name: of_maker(maker, motions, load_skeleton(name), ground)
                for maker in makers
            }
            for name in targets
        }
    return result


if __name__ == "__main__":
    run(
        measure, {"walks": 1, "targets": ["human23"]},
        [("read.*.*.position_cm", "<=", 0.5), ("read.*.*.rotation_deg", "<=", 2.0)],
    )  # fmt: skip
