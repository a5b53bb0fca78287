"""How well and how fast CMU motions go onto the canonical skeletons.

Every AMC clip below `--data` (decimated to `--fps`) is retargeted to each target four
ways: by plain transfer of rotations and with the refinement, on the target's own lengths
and on the subject's (`fit`). Reported, pooled over all frames:

* residuals of each role's joint in cm, mean and 95 %. On the target's own lengths the
  goal is where its bones lead in the source's directions (of ankles: the source's ankles
  in scale); on the subject's lengths it is the source's joint itself;
* skate: mean speed of standing feet where they touch the ground, of the source (in the
  target's scale), of the transfer and of the refined motion, in the source's contacts;
* the height of the soles in contact: median and 5-95 % range of those below 10 cm (the
  others stand on something), and the deepest 1 % of all frames (below 0: in the ground);
* frames a second in CPU time of one core, reading left out, kernels compiled before.

    python benchmarks/motion_retarget.py --data ../shared/data/cmu
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Options, write
from rich.console import Console

from ambulo.common.tables import new_table, print_table
from ambulo.motion.contacts import foot_skate
from ambulo.motion.formats.files import read_motion
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.body import body_of
from ambulo.motion.retargeting.ground import sole_heights
from ambulo.motion.retargeting.retarget import Retargeted, retarget
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

STANDS_ON_SOMETHING = 0.1
"""Soles in contact above this height, [m], are not on the ground."""


@dataclass
class Tally:
    """What all clips gave for one target and way, weighted by their frames."""

    frames: int = 0
    seconds: float = 0.0
    mean: dict[str, float] = field(default_factory=dict)
    high: dict[str, float] = field(default_factory=dict)
    skates: list[tuple[int, float, float]] = field(default_factory=list)
    standing: list[np.ndarray] = field(default_factory=list)
    soles: list[np.ndarray] = field(default_factory=list)
    clips: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

    def add(self, source: Motion, result: Retargeted, seconds: float) -> None:
        """Count one clip."""
        count = len(source)
        self.frames += count
        self.seconds += seconds
        for sums, found in (
            (self.mean, result.residuals_cm),
            (self.high, result.residuals_95_cm),
        ):
            for role, value in found.items():
                sums[role] = sums.get(role, 0.0) + count * value
        if result.contacts.any():
            before = result.scale * foot_skate(source, result.contacts)
            after = foot_skate(result.motion, result.contacts)
            self.skates.append((int(result.contacts.sum()), before, after))
        motion = result.motion
        placed = forward_kinematics(
            motion.skeleton, motion.root_positions, motion.rotations
        )
        heights = sole_heights(body_of(motion.skeleton), *placed)
        standing = heights[result.contacts]
        self.standing.append(standing[standing < STANDS_ON_SOMETHING])
        mean = float(np.mean(list(result.residuals_cm.values())))
        self.clips.setdefault(source.name.split("_")[0], []).append((count, mean))
        self.soles.append(heights.ravel())

    def summary(self) -> dict[str, Any]:
        """The numbers that are printed and written."""
        weights, before, after = np.array(self.skates).T
        standing = 100.0 * np.concatenate(self.standing)
        mean = {role: value / self.frames for role, value in self.mean.items()}
        return {
            "frames": self.frames,
            "frames_per_second": self.frames / self.seconds,
            "residual_mean_cm": float(np.mean(list(mean.values()))),
            "residuals_cm": mean,
            "subjects_cm": {
                subject: sum(n * value for n, value in rows) / sum(n for n, _ in rows)
                for subject, rows in self.clips.items()
            },
            "residuals_95_cm": {r: v / self.frames for r, v in self.high.items()},
            "skate_source_cm_s": 100.0 * float(np.average(before, weights=weights)),
            "skate_cm_s": 100.0 * float(np.average(after, weights=weights)),
            "sole_in_contact_cm": np.percentile(standing, [5, 50, 95]).tolist(),
            "sole_lowest_1_percent_cm": 100.0
            * float(np.percentile(np.concatenate(self.soles), 1.0)),
        }


def read_clips(folders: Sequence[Path], most: int | None) -> list[Motion]:
    """Every AMC clip below `folders` once (at most `most`), with its subject's ASF."""
    asfs = {path.stem: path for folder in folders for path in folder.rglob("*.asf")}
    clips = {path.stem: path for folder in folders for path in folder.rglob("*.amc")}
    return [
        read_motion(path, asf=asfs[path.parent.name])
        for _, path in sorted(clips.items())[:most]
        if path.parent.name in asfs
    ]


def measure(
    clips: Sequence[Motion], target: Skeleton, *, fit: bool, refine: bool
) -> dict[str, Any]:
    """All clips on `target` in one way."""
    retarget(clips[0][:5], target, fit_lengths=fit, refine=refine)
    tally = Tally()
    for clip in clips:
        start = time.process_time()
        result = retarget(clip, target, fit_lengths=fit, refine=refine)
        tally.add(clip, result, time.process_time() - start)
    return tally.summary()


def show(console: Console, name: str, found: dict[str, dict[str, Any]]) -> None:
    """Print the tables of one target."""
    table = new_table(f"{name}: ways")
    for column in ("way", "residual cm", "skate cm/s (source)", "sole in contact cm",
                   "deepest 1 % cm", "frames/s"):  # fmt: skip
        table.add_column(column)
    for way, row in found.items():
        low, middle, high = row["sole_in_contact_cm"]
        table.add_row(
            way, f"{row['residual_mean_cm']:.2f}",
            f"{row['skate_cm_s']:.1f} ({row['skate_source_cm_s']:.1f})",
            f"{middle:.1f} ({low:.1f}..{high:.1f})",
            f"{row['sole_lowest_1_percent_cm']:.1f}", f"{row['frames_per_second']:.0f}",
        )  # fmt: skip
    print_table(console, table)
    roles = new_table(f"{name}: residuals, mean (95 %) in cm")
    roles.add_column("role")
    for way in found:
        roles.add_column(way)
    for role in next(iter(found.values()))["residuals_cm"]:
        cells = [
            f"{row['residuals_cm'][role]:.2f} ({row['residuals_95_cm'][role]:.2f})"
            for row in found.values()
        ]
        roles.add_row(role, *cells)
    roles.add_section()
    for subject in next(iter(found.values()))["subjects_cm"]:
        cells = [f"{row['subjects_cm'][subject]:.2f}" for row in found.values()]
        roles.add_row(f"subject {subject}", *cells)
    print_table(console, roles)


def main() -> None:
    """Measure, print and write."""
    parser = Options(__doc__, clips=1, fps=4.0)
    parser.add_mocap(nargs="+")
    parser.add_argument("--targets", nargs="+", default=["human23", "ik23"])
    parser.add_argument("--fps", type=float, default=24.0)
    parser.add_argument("--clips", type=int, help="most clips")
    args = parser.read()
    motions = read_clips(args.data, args.clips)
    if not motions:
        parser.error(f"no AMC clip below {', '.join(map(str, args.data))}")
    clips = [motion[:: max(1, round(motion.fps / args.fps))] for motion in motions]
    console = Console()
    console.print(f"{len(clips)} clips, {sum(map(len, clips))} frames at {args.fps} Hz")
    results: dict[str, Any] = {"clips": len(clips), "fps": args.fps}
    for name in args.targets:
        target = load_skeleton(name)
        found = {
            f"{'refined' if refine else 'transfer'}{', fit' if fit else ''}": measure(
                clips, target, fit=fit, refine=refine
            )
            for fit in (False, True)
            for refine in (False, True)
        }
        show(console, name, found)
        results[name] = found
    full = measure(motions, load_skeleton(args.targets[0]), fit=False, refine=True)
    results["full_rate"] = full
    console.print(
        f"{args.targets[0]}, refined, at the clips' own rates: {full['frames']} frames, "
        f"{full['frames_per_second']:.0f} frames/s"
    )
    write(results, args)


if __name__ == "__main__":
    main()
