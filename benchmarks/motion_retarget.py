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

    python benchmarks/motion_retarget.py --data DIR
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from _harness import CMU, run

from ambulo.configs.errors import MotionError
from ambulo.motion.contacts import foot_skate
from ambulo.motion.formats.files import read_motion
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.body import retarget_body
from ambulo.motion.retargeting.ground import sole_heights
from ambulo.motion.retargeting.retarget import Retargeted, retarget
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

STANDS_ON_SOMETHING = 0.1
"""Soles in contact above this height, [m], are not on the ground."""


@dataclass
class Tally:
    """Mean over all clips for one target and method, weighted by their frames."""

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
        heights = sole_heights(retarget_body(motion.skeleton), *placed)
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


def tallied(
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


def measure(
    data: Path = CMU / "asfamc",
    targets: tuple[str, ...] = ("human23", "ik23"),
    fps: float = 24.0,
    clips: int = 1000,
) -> dict[str, Any]:
    """Every way of every target."""
    motions = [read_motion(path) for path in sorted(data.rglob("*.amc"))[:clips]]
    if not motions:
        raise MotionError(f"{data}: no AMC clip below it")
    slow = [motion[:: max(1, round(motion.fps / fps))] for motion in motions]
    result: dict[str, Any] = {"clips": len(motions), "fps": fps}
    for name in targets:
        result[name] = {
            f"{'refined' if refine else 'transfer'}{', fit' if fit else ''}": tallied(
                slow, load_skeleton(name), fit=fit, refine=refine
            )
            for fit in (False, True)
            for refine in (False, True)
        }
    full = load_skeleton(targets[0])
    result["full_rate"] = tallied(motions, full, fit=False, refine=True)
    return result


if __name__ == "__main__":
    run(measure, {"clips": 1, "fps": 4.0})
