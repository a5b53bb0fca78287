"""The body tracker in the engine against Python: poses, statuses, constants."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.policy_replay import Godot, run_jobs

import ambulo
from ambulo.configs.arrays import Floats
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.tracker import BodyTracker, FrameStatus, TrackerStatus
from ambulo.ik.trackers.tracks import track_of
from ambulo.motion.gaits.generated_walks import generated_walks
from ambulo.policies.export.trackers import export_tracker

TOLERANCE = 1e-4
"""Largest difference between Python and the engine, [m]."""


def recorded(rate: float, points: int, *, faults: str = "") -> Floats:
    """Rows of the probe's input of a walk, with lost and impossible samples."""
    walk = generated_walks(rate, 5.0)[4]
    track = track_of(walk, points)
    rows = np.zeros((len(track), 51))
    rows[0, 0], rows[:, 1] = 1.0, 1.0 / rate
    for k in range(6):
        at = 3 + 8 * k
        rows[:, at] = track.present[:, k]
        rows[:, at + 1 : at + 4] = track.positions[:, k]
        rows[:, at + 4 : at + 8] = track.rotations[:, k]
    if faults == "samples":
        rows[100:150, 3] = 0.0  # the left hand is lost
        rows[170:175, 12] = np.nan  # the right hand has no position
        rows[190, 4:7] += 6.0  # the left hand jumps
        rows[200, 1] = 0.0  # time stands still
        rows[220:260, 3 + 8 * 4] = 0.0  # the head is lost
        rows[280:, 2] = 2.0  # a floor that nobody can stand on
    if faults == "head":
        head = 3 + 8 * 4
        rows[:5, head] = 0.0  # nobody yet
        rows[60:210, head] = 0.0  # lost for 2.5 s
        rows[230, 1] = 0.6  # a pause, which ends without a head
        rows[230:236, head] = 0.0
        rows[62:140, 4:11] = rows[62, 4:11]  # the left hand repeats itself
        rows[280, 16:19] *= 3.0  # a quaternion of the right hand is not unit
    return rows


def followed(body: BodyTracker, rows: Floats) -> Floats:
    """Positions (T, 69), contacts (4), statuses (6 + 1) of a body in Python."""
    body.reset()
    out = []
    for row in rows:
        values = row[3:].reshape(6, 8)
        sample = TrackerSample(values[:, 1:4], values[:, 4:], values[:, 0] > 0.0)
        frame = body.step(sample, row[1], row[2])
        out.append(
            [*frame.positions.ravel(), *frame.contacts, *frame.statuses, frame.status]
        )
    return np.array(out)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "body.ambulo"
    export_tracker(ambulo.load("ik_trackers", BodyTracker), path)
    return path


def test_bodies_are_the_same_in_the_engine(
    godot: Godot, model: Path, tmp_path: Path
) -> None:
    body = ambulo.load("ik_trackers", BodyTracker)
    jobs, wanted = [], []
    for number, (rate, points, faults) in enumerate(
        ((90.0, 3, ""), (72.0, 6, ""), (60.0, 3, "samples"), (60.0, 4, "head"))
    ):
        rows = recorded(rate, points, faults=faults)
        files = [tmp_path / f"{number}.in", tmp_path / f"{number}.out"]
        files[0].write_bytes(rows.astype("<f8").tobytes())
        jobs.append(
            {"model": str(model), "input": str(files[0]), "output": str(files[1])}
        )
        wanted.append(followed(body, rows))
    run_jobs(godot, "body_tracker_probe", jobs, tmp_path)
    for job, want in zip(jobs, wanted, strict=True):
        got = np.fromfile(job["output"], "<f8").reshape(len(want), -1)
        np.testing.assert_array_equal(got[:, 165:172], want[:, 73:80])
        np.testing.assert_allclose(got[:, 161:165], want[:, 69:73], atol=1e-3)
        far = np.linalg.norm((got[:, :69] - want[:, :69]).reshape(-1, 23, 3), axis=-1)
        assert far.max() < TOLERANCE
        print(
            f"{far.max():.2e} m, {got[:, 172].mean():.0f} us, worst {got[:, 172].max():.0f}"
        )
        assert np.ptp(want[:, 0]) > 1.0
    assert set(np.concatenate(wanted)[:, 79]) == set(FrameStatus)
    assert set(np.concatenate(wanted)[:, 73:79].ravel()) == set(TrackerStatus)


def test_damaged_files_are_refused_in_the_engine(
    godot: Godot, model: Path, tmp_path: Path
) -> None:
    data = bytearray(model.read_bytes())
    data[-3] ^= 1
    broken = tmp_path / "broken.ambulo"
    broken.write_bytes(data)
    rows = recorded(60.0, 3, faults=False)[:2]
    (tmp_path / "in").write_bytes(rows.astype("<f8").tobytes())
    job = {
        "model": str(broken),
        "input": str(tmp_path / "in"),
        "output": str(tmp_path / "out"),
    }
    (tmp_path / "jobs.json").write_text(json.dumps([job]), encoding="utf-8")
    done = godot(
        "-s", "res://tests/body_tracker_probe.gd", "--", tmp_path / "jobs.json"
    )
    assert done.returncode == 1
    assert "wrong SHA-256" in done.stderr
