"""Files of other makers on our bodies: how near is what comes out to what their joints do?

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

`--samples` names a folder of other people's BVH files; of these the own error is reported.

    python benchmarks/motion_rigs.py --clips ../shared/data/cmu/asfamc/02/02_01.amc
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Options, exit_code, judge, write
from rich.console import Console

import ambulo
from ambulo.common.tables import new_table, print_table
from ambulo.configs.errors import AmbuloError
from ambulo.motion.formats.files import read_motion
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.retarget import Retargeted, retarget
from ambulo.motion.retargeting.source import Source, prepared, read_source
from ambulo.motion.roles import roles_of
from ambulo.motion.rotations import quat_angle
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from fixtures.rig_accuracy import Accuracy, accuracy, samples
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


def measure(
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


def measure_sample(path: Path, target: Skeleton, ground: bool) -> dict[str, Any]:
    """The suite's own error of a file of others, or why it is refused."""
    try:
        source = read_source(path)
        source = Source(prepared(source.motion[:MAX_FRAMES]).motion, source.notes)
        done = mapped(source, target, ground)
    except AmbuloError as error:
        return {"refused": str(error).replace(f"{path}: ", "")}
    return {
        "position_cm": done.error.position_cm,
        "worst_cm": max(done.error.positions_cm.values(), default=0.0),
        "rotation_deg": done.error.rotation_deg,
        "worst_deg": max(done.error.rotations_deg.values(), default=0.0),
        "direction_deg": done.error.direction_deg,
        "chosen": source.note,
    }


def show(console: Console, title: str, rows: dict[str, dict[str, Any]]) -> None:
    """Print a table."""
    table = new_table(title)
    for column in ("source", "joints cm (worst)", "rotations deg (worst)",
                   "against ours deg (worst)", "chosen, or refused"):  # fmt: skip
        table.add_column(column)
    for name, row in rows.items():
        if "refused" in row:
            table.add_row(name, "-", "-", "-", f"refused: {row['refused']}")
            continue
        ours = "-"
        if "orientation_deg" in row:
            ours = f"{row['orientation_deg']:.1f} ({row['worst_orientation_deg']:.1f})"
        table.add_row(
            name, f"{row['position_cm']:.2f} ({row['worst_cm']:.2f})",
            f"{row['rotation_deg']:.2f} ({row['worst_deg']:.2f})", ours, row["chosen"],
        )  # fmt: skip
    print_table(console, table)


def main() -> int:
    """Measure, print and judge."""
    parser = Options(__doc__, walks=1, targets=["human23"])
    parser.add_argument("--clips", nargs="*", type=Path, default=[], metavar="FILE")
    parser.add_argument("--walks", type=int, default=3, help="generated walks, up to 3")
    parser.add_argument("--samples", type=Path, metavar="DIR", help="others' BVH files")
    parser.add_argument("--targets", nargs="+", default=["human23", "ik23"])
    parser.add_argument(
        "--ground", action="store_true", help="set feet on the ground, as by default"
    )
    args = parser.read()
    clips = clips_of(args.clips, args.walks)
    console = Console()
    results: dict[str, Any] = {"clips": list(clips), "ground": args.ground}
    judged: list[tuple[str, float, str, float]] = []
    for name in args.targets:
        target = load_skeleton(name)
        rows = {m.name: measure(m, clips, target, args.ground) for m in MAKERS}
        refused = {m.name: measure(m, clips, target, args.ground) for m, _ in REFUSED}
        show(console, f"{name}, {len(clips)} clips: {', '.join(clips)}", rows | refused)
        results[name] = rows | refused
        for maker, row in rows.items():
            judged += [
                (
                    f"{name}: {maker}, joints",
                    row.get("position_cm", np.inf),
                    "<=",
                    POSITION_CM,
                ),
                (
                    f"{name}: {maker}, rotations",
                    row.get("rotation_deg", np.inf),
                    "<=",
                    ROTATION_DEG,
                ),
            ]
        if args.samples is not None:
            outside = {
                str(path.relative_to(args.samples)): measure_sample(
                    path, target, args.ground
                )
                for path in samples(args.samples)
            }
            show(console, f"{name}: files of others", outside)
            results[f"{name}, samples"] = outside
    missed = judge(judged)
    write(results, args)
    return exit_code(missed, args)


if __name__ == "__main__":
    sys.exit(main())
