"""Time of a body tracker's frame, beside the solver of single moments, and what noise costs.

    OMP_NUM_THREADS=1 python benchmarks/body_tracker.py

A generated walk, seen by head and hands at 60 to 120 samples a second. Times are of whole calls
from Python, of each frame the least of several rounds: the mean over all frames, of frames in
which the network runs (30 a second) and of the others. Accuracy on people:
`ambulo eval ik_trackers --clips FOLDER`.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from _harness import run

import ambulo.shipped
from ambulo.evaluate.trackers.baselines import SolvedTrack
from ambulo.evaluate.trackers.scores import jerk
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.shape import BodyShape
from ambulo.ik.trackers.tracker import BodyTracker
from ambulo.ik.trackers.tracks import track_of
from ambulo.motion.gaits.generated_walks import generated_walks
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.policies.agents.body_tracker import load_tracker_network

RATES = (60.0, 72.0, 90.0, 120.0)
"""Samples per second, [Hz]."""
STRIDE, CADENCE = 0.9, 1.15
"""Stride and cadence of the walk, over the healthy ones."""
NOISE = 0.001
"""Noise of the trackers, [m]."""


def _walk(rate: float, seconds: float) -> Motion:
    return generated_walks(rate, seconds, (STRIDE,), (CADENCE,))[0]


def _samples(rate: float, seconds: float, noise: float = 0.0) -> list[TrackerSample]:
    track = track_of(_walk(rate, seconds), noise=noise)
    return [track.sample(frame) for frame in range(len(track))]


def _times(
    body: BodyTracker, samples: list[TrackerSample], rate: float, rounds: int
) -> dict[str, float]:
    """Times of a frame, [us]: the least of several rounds, frame by frame."""
    best = np.full(len(samples), np.inf)
    for _ in range(rounds + 1):
        body.reset()
        for frame, sample in enumerate(samples):
            began = time.perf_counter()
            body.step(sample, 1.0 / rate)
            best[frame] = min(best[frame], time.perf_counter() - began)
    best *= 1e6
    split = 0.5 * (best.min() + best.max())
    return {
        "mean": float(best.mean()),
        "network": float(best[best >= split].mean()),
        "other": float(best[best < split].mean()),
    }


def _baseline_time(seconds: float) -> float:
    """Mean time of a frame of the baseline without a network at 60 Hz, [us]."""
    samples = _samples(60.0, min(seconds, 3.0))
    track = SolvedTrack(BodyShape())
    track(samples[0], 1.0 / 60.0)
    began = time.perf_counter()
    for sample in samples:
        track(sample, 1.0 / 60.0)
    return 1e6 * (time.perf_counter() - began) / len(samples)


def _jerks(network: TrackerNetwork, seconds: float) -> tuple[float, float, float]:
    """Jerk of the body without and with noise, and of the walk, [100 m/s^3]."""
    found = []
    for noise in (0.0, NOISE):
        body = BodyTracker(network, BodyShape())
        places = [
            body.step(sample, 1.0 / 60.0).positions.copy()
            for sample in _samples(60.0, seconds, noise)
        ]
        found.append(jerk(np.array(places[30:]), 60.0))
    walk = _walk(60.0, seconds)
    return found[0], found[1], jerk(motion_kinematics(walk)[0][30:], 60.0)


def measure(seconds: float = 10.0, rounds: int = 7) -> dict[str, Any]:
    """Times of frames by rate, of the solver of single moments, and jerk."""
    network, _ = load_tracker_network(ambulo.shipped.shipped_models()["ik_trackers"])
    times = {
        f"{rate:g} Hz": _times(
            BodyTracker(network, BodyShape()), _samples(rate, seconds), rate, rounds
        )
        for rate in RATES
    }
    jerks = zip(("clean", "noisy", "true"), _jerks(network, seconds), strict=True)
    return {
        "microseconds": times,
        "v1_microseconds": _baseline_time(seconds),
        "jerk": dict(jerks),
    }


if __name__ == "__main__":
    run(measure, {"seconds": 1.0, "rounds": 1}, [("microseconds.*.mean", "<=", 150.0)])
