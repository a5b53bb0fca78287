"""What a rig learns from a walk, and how a walk goes on by itself."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _rig_common import RATE, clip_frames
from numpy.typing import NDArray

from ambulo.motion.rotations import quat_multiply, quat_to_rotvec
from ambulo.rig_server.character import AnswerGate
from ambulo.rig_server.frames import RigFrame
from ambulo.rig_server.layout import LEGS
from ambulo.rig_server.learner import RigLearner
from ambulo.rig_server.sequence import SequenceLearner

PAIRS = (
    ("02_01", ("02_02",)),
    ("02_02", ("02_01",)),
    ("07_01", ("07_03", "07_06", "07_10")),
    ("07_07", ("07_01", "07_10")),
    ("07_01+07_07", ("07_03", "07_06", "07_10")),
)
"""Clips that are streamed once, and clips that are answered then."""


def learning(args: argparse.Namespace) -> list[dict[str, Any]]:
    """One pass over each walk, then others of the same person."""
    rows = []
    for taught, tested in PAIRS:
        learner = RigLearner(LEGS)
        solver = AnswerGate(learner)
        scores, smooth, cpu = [], [], []
        for frame in clip_frames(args.data, taught):
            start = time.process_time()
            scores.append(vars(learner.observe(frame)))
            solver.update()
            solver.solve(frame)
            learner.learn()
            cpu.append(time.process_time() - start)
            smooth.append(dict(learner.progress.means))
        row: dict[str, Any] = {
            "taught": taught,
            "frames": len(scores),
            "answers_from_frame": solver.started_at,
            "answer_loss_below_1e-3_cm2_from": from_when(smooth, "loss", 1e-3),
            "network_loss_below_1e-3_m2_from": from_when(smooth, "network_loss", 10.0),
            "largest_answer_loss_cm2": max(s["loss"] for s in scores[60:]),
            "last_100_network_loss_cm2": mean(scores[-100:], "network_loss"),
            "prequential_calf_cm": 100 * mean(scores[60:], "middle_error"),
            "prequential_calf_deg": float(
                np.degrees(mean(scores[60:], "middle_angle"))
            ),
            "cpu_ms": 1e3 * float(np.median(cpu)),
        }
        print(json.dumps(row))
        row["tested"] = [answered(learner, args.data, clip) for clip in tested]
        rows.append(row)
    return rows


def from_when(smooth: list[dict[str, float]], name: str, limit: float) -> int:
    """The frame from which a smoothed error stays below `limit`; -1 if it does not."""
    above = [i for i, means in enumerate(smooth) if not means[name] < limit]
    start = above[-1] + 1 if above else 0
    return start if start < len(smooth) else -1


def mean(scores: list[dict[str, float]], name: str) -> float:
    """Mean of one field."""
    return float(np.mean([score[name] for score in scores]))


def answered(learner: RigLearner, folder: Path, clip: str) -> dict[str, Any]:
    """Errors on a clip that is not learned from; with and without the network."""
    frames = clip_frames(folder, clip)
    row: dict[str, Any] = {"clip": clip, **errors_of(learner, frames)}
    smooth = learner.network.smooth
    kept = smooth.copy()
    smooth[:] = 0.0
    row |= {f"anatomy_alone_{k}": v for k, v in errors_of(learner, frames).items()}
    smooth[:] = kept
    print("  ", json.dumps(row))
    return row


def errors_of(learner: RigLearner, frames: Sequence[RigFrame]) -> dict[str, float]:
    """Mean errors of the answers to `frames`, which are not learned from."""
    distance, angle, thigh = [], [], []
    for frame in frames:
        found = learner.predict(frame, learner.effectors_of(frame)).rotations
        positions, turned = learner.positions(found)
        wanted, wanted_turned = learner.positions(frame.rotations)
        distance.append(np.linalg.norm(positions - wanted, axis=1))
        cosine = np.abs(np.sum(turned * wanted_turned, axis=1))
        angle.append(np.degrees(2.0 * np.arccos(np.minimum(cosine, 1.0))))
        back = found[1] * np.array([1.0, -1.0, -1.0, -1.0])
        turn = quat_to_rotvec(quat_multiply(back, frame.rotations[1]))
        thigh.append(np.degrees(turn))
    calves, feet = [2, 5], [3, 6]
    far, wide = 100.0 * np.array(distance), np.array(angle)
    return {
        "calf_cm": float(far[:, calves].mean()),
        "calf_p95_cm": float(np.percentile(far[:, calves], 95)),
        "calf_deg": float(wide[:, calves].mean()),
        "foot_cm": float(far[:, feet].mean()),
        "foot_deg": float(wide[:, feet].mean()),
        # A constant part of the error: what the clip has otherwise than the others.
        "right_thigh_bias_deg": float(np.linalg.norm(np.mean(thigh, axis=0))),
    }


def free_runs(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Ten seconds of walk without input, after some passes over a walk."""
    rows = []
    for clip, passes in (("02_01", 3), ("02_02", 3), ("07_01", 3), ("07_07", 3)):
        frames, model = clip_frames(args.data, clip), SequenceLearner(LEGS)
        for frame in frames * passes:
            model.add(frame)
            model.learn()
        positions, rotations = model.run(1200)
        knee, real = rotations[200:, 2], np.array([f.rotations[2] for f in frames])
        way = np.array([f.root_position for f in frames])
        row = {
            "clip": clip,
            "passes": passes,
            "period_s": period(knee),
            "real_period_s": period(real),
            "speed_m_s": pace(positions),
            "real_speed_m_s": pace(way),
            "knee_spread": float(np.std(knee, axis=0).max()),
            "real_knee_spread": float(np.std(real, axis=0).max()),
            "height_range_m": float(np.ptp(positions[:, 2])),
            "real_height_range_m": float(np.ptp(way[:, 2])),
        }
        print(json.dumps(row))
        rows.append(row)
    return rows


def period(turns: NDArray[np.float64]) -> float:
    """Time after which a movement repeats, [s]: the first good lag from 0.5 to 2 s."""
    values = turns - turns.mean(axis=0)
    lags = np.arange(60, min(240, len(values) // 2))
    gains = [np.sum(values[:-lag] * values[lag:]) / (len(values) - lag) for lag in lags]
    peaks = [
        i
        for i in range(1, len(gains) - 1)
        if gains[i - 1] <= gains[i] >= gains[i + 1] and gains[i] > 0.8 * max(gains)
    ]
    return float(lags[peaks[0] if peaks else int(np.argmax(gains))] / RATE)


def pace(positions: NDArray[np.float64]) -> float:
    """Mean speed over the ground, [m/s]."""
    steps = np.linalg.norm(np.diff(positions[:, :2], axis=0), axis=1)
    return float(steps.mean() * RATE)
