"""What a rig learns of gaits that are no plain walk: stylised, limping, sneaking, turning."""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from _rig_learning import errors_of

from ambulo.configs.errors import MotionError
from ambulo.motion.formats.files import read_motion
from ambulo.rig_server.frames import RigFrame, floats_of, frame_of
from ambulo.rig_server.layout import LEGS
from ambulo.rig_server.learner import RigLearner
from ambulo.rig_server.replay import leg_frames

GAITS = re.compile(
    r"walk|limp|sneak|march|run|creep|hobble|tiptoe|stealth|jaunt|step", re.IGNORECASE
)
TAUGHT, LEAST = 60.0, 20.0
"""Most and least seconds that a rig is taught, [s]."""
TESTED = 20.0
"""Most seconds that are answered then, [s]."""


def styles(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Recordings of one person and kind: all but the last are streamed, the last answered.

    `--manifest` names a CSV file with the columns file, person, description and fps.
    """
    groups: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    with args.manifest.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if GAITS.search(row["description"]):
                groups[row["person"], row["description"]].append(row)
    found = []
    for (person, kind), rows in groups.items():
        try:
            clips = [frames_of(args.manifest.parent / row["file"]) for row in rows]
        except MotionError as error:
            print(f"left out: {error}")
            continue
        rate = float(rows[0]["fps"])
        taught = [frame for clip in clips[:-1] for frame in clip]
        taught = taught[: round(TAUGHT * rate)]
        if len(taught) < LEAST * rate:
            continue
        learner = RigLearner(LEGS)
        for frame in taught:
            learner.observe(frame)
            learner.learn()
        answer = errors_of(learner, clips[-1][: round(TESTED * rate)])
        learner.network.smooth[:] = 0.0
        alone = errors_of(learner, clips[-1][: round(TESTED * rate)])
        row = {
            "person": person,
            "kind": kind,
            "taught_s": len(taught) / rate,
            "calf_cm": answer["calf_cm"],
            "calf_deg": answer["calf_deg"],
            "anatomy_alone_calf_cm": alone["calf_cm"],
            "anatomy_alone_calf_deg": alone["calf_deg"],
        }
        print(json.dumps(row))
        found.append(row)
    far = np.array([[row["calf_cm"], row["calf_deg"]] for row in found])
    if len(far):
        summary = {
            "kinds": len(far),
            "median_cm_deg": np.median(far, axis=0).tolist(),
            "mean_cm_deg": far.mean(axis=0).tolist(),
            "within_1_cm_and_4_deg": int(
                ((far[:, 0] <= 1.0) & (far[:, 1] <= 4.0)).sum()
            ),
        }
        print(json.dumps(summary))
        found.append(summary)
    return found


def frames_of(path: Path) -> list[RigFrame]:
    """The frames of a clip behind its first, a T-pose in many files."""
    motion = read_motion(path)
    return [frame_of(LEGS, floats_of(LEGS, f)) for f in list(leg_frames(motion))[1:]]
