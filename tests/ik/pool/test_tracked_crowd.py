"""Tracked players in the pool: one job meets the trackers of all, and no end loses any."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from ambulo.configs.errors import IKError
from ambulo.ik.pool.jobs import run_job
from ambulo.ik.pool.slots import JobResult
from ambulo.ik.pool.tracked_crowd import TrackedCrowd
from ambulo.ik.pool.workers import NeuralIKPool
from ambulo.ik.pose import fk
from ambulo.ik.rig import TARGETS
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.shape import BodyShape
from ambulo.ik.trackers.tracker import BodyTracker
from ambulo.ik.trackers.tracks import TrackerTrack, track_of
from ambulo.motion.gaits.generated_walks import generated_walks

pytestmark = pytest.mark.integration

DT = 1.0 / 60.0
SAME = BodyShape()
TRACKERS = ("LeftHand", "RightHand", "Head")
posix_only = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


@pytest.fixture(scope="module")
def tracks() -> list[TrackerTrack]:
    """Head and hands of four players, side by side."""
    walks = generated_walks(60.0, 2.0)
    tracks = [track_of(walks[k]) for k in (1, 3, 5, 7)]
    for k, track in enumerate(tracks):
        track.positions[:] += [0.0, 2.0 * k, 0.0]
    return tracks


def crowd_of(
    pool: NeuralIKPool, network: TrackerNetwork, tracks: list[TrackerTrack]
) -> TrackedCrowd:
    """A player for each track."""
    crowd = TrackedCrowd(pool.rig, pool.solve)
    for k in range(len(tracks)):
        crowd.add(f"p{k}", BodyTracker(network, SAME, adapt=False))
    return crowd


def samples_of(tracks: list[TrackerTrack], frame: int) -> dict[str, TrackerSample]:
    """What the trackers of all players say."""
    return {f"p{k}": track.sample(frame) for k, track in enumerate(tracks)}


def test_all_trackers_are_met_by_one_job(
    pool: NeuralIKPool, shipped_network: TrackerNetwork, tracks: list[TrackerTrack]
) -> None:
    crowd, jobs = crowd_of(pool, shipped_network, tracks), []
    rows = [TARGETS.index(name) for name in TRACKERS]
    joints = [pool.rig.effectors[row] for row in rows]
    for k in range(60):
        samples = samples_of(tracks, k)
        frame = crowd.step(samples, DT)
        jobs.append(frame.result.job)
        places = fk(pool.rig, frame.pose)[0][:, joints]
        wanted = np.array([sample.positions[rows] for sample in samples.values()])
        assert np.linalg.norm(places - wanted, axis=-1).max() < 1e-3
        assert frame.problems == {}
    assert jobs == list(range(jobs[0], jobs[0] + 60))
    assert len(frame.pose) == 4
    np.testing.assert_array_equal(frame.of("p2").root[0], frame.pose.root[2])


@posix_only
def test_a_worker_that_is_killed_loses_nothing(
    pool: NeuralIKPool, shipped_network: TrackerNetwork, tracks: list[TrackerTrack]
) -> None:
    """Frame by frame the poses are those of a crowd whose workers live."""
    solver = NeuralIKSolver(pool.rig, steps=4)

    def alone(targets: Targets, base: object) -> JobResult:
        solution = solver.solve(targets, base)  # type: ignore[arg-type]
        return JobResult(0, True, "", solution, None, None, 0.0, 0.0, (0,), 1)

    crowd = crowd_of(pool, shipped_network, tracks)
    calm = crowd_of(pool, shipped_network, tracks)
    calm._solve = alone
    pool.wait_ready()
    for k in range(45):
        samples = samples_of(tracks, k)
        if k in (10, 25):
            pids = [stats.pid for stats in pool.stats() if stats.ready]
            os.kill(pids[k % len(pids)], signal.SIGKILL)
        frame, expected = crowd.step(samples, DT), calm.step(samples, DT)
        assert frame.result.success
        np.testing.assert_allclose(
            frame.pose.rotations, expected.pose.rotations, atol=1e-9
        )
        np.testing.assert_allclose(frame.pose.root, expected.pose.root, atol=1e-9)
    pool.wait_ready()


def test_without_an_answer_the_tracked_bodies_are_shown(
    pool: NeuralIKPool, shipped_network: TrackerNetwork, tracks: list[TrackerTrack]
) -> None:
    def failing(targets: Targets, base: object) -> JobResult:
        return JobResult(1, False, "3 workers ended", None, None, None, 0, 0, (-1,), 3)

    crowd = crowd_of(pool, shipped_network, tracks)
    crowd._solve = failing
    frame = crowd.step(samples_of(tracks, 0), DT)
    assert frame.pose is frame.base
    assert np.isfinite(frame.pose.rotations).all()


def test_players_come_wait_and_go(
    pool: NeuralIKPool, shipped_network: TrackerNetwork, tracks: list[TrackerTrack]
) -> None:
    crowd = crowd_of(pool, shipped_network, tracks[:2])
    alone = BodyTracker(shipped_network, SAME, adapt=False)
    crowd.step(samples_of(tracks[:2], 0), DT)
    alone.step(tracks[1].sample(0), DT)
    for k in range(1, 5):
        crowd.step({"p0": tracks[0].sample(k)}, DT)
    crowd.step(samples_of(tracks[:2], 5), DT)
    # It advances by the whole time that it waited.
    expected = alone.step(tracks[1].sample(5), 5 * DT).positions
    np.testing.assert_allclose(crowd.player("p1").frame.positions, expected, atol=1e-9)
    crowd.remove("p1")
    assert crowd.names == ("p0",)
    assert "p1" not in crowd
    frame = crowd.step({"p0": None}, DT)
    assert frame.problems["p0"] == "LeftHand lost, RightHand lost, Head lost"
    with pytest.raises(IKError, match="no player 'p1'"):
        crowd.step({"p1": None}, DT)
    with pytest.raises(IKError, match="already"):
        crowd.add("p0", alone)
    with pytest.raises(IKError, match="dt must be above 0"):
        crowd.step({"p0": None}, 0.0)
    with pytest.raises(IKError, match="one player"):
        crowd.step({}, DT)


def character(name: str, sample: TrackerSample) -> dict[str, object]:
    """The published input of a player."""
    return {
        "name": name,
        "trackers": {
            row: {
                "position": sample.positions[k].tolist(),
                "rotation": sample.rotations[k].tolist(),
            }
            for k, row in enumerate(TARGETS)
            if sample.present[k]
        },
        "shape": {"trunk": 1.0, "arm": 1.0, "leg": 1.0},
    }


def test_the_published_job_tracks_bodies(
    pool: NeuralIKPool, shipped_network: TrackerNetwork, tracks: list[TrackerTrack]
) -> None:
    first = {"dt": DT, "characters": [character("a", tracks[0].sample(0))]}
    pool.tracker_network = None
    assert "no body tracker" in run_job(pool, "TRACK_BODY", first)["error"]
    assert pool.cache(shipped_network) == shipped_network.parameters
    crowd = crowd_of(pool, shipped_network, tracks[:2])
    for k in range(30):
        samples = samples_of(tracks[:2], k)
        people = [character(name, sample) for name, sample in samples.items()]
        answer = run_job(pool, "TRACK_BODY", {"dt": DT, "characters": people})
        expected = crowd.step(samples, DT)
    assert answer["success"], answer
    for row, person in enumerate(answer["characters"]):
        assert person["name"] == f"p{row}"
        assert (person["success"], person["status"]) == (True, "ok")
        assert person["statuses"]["Head"] == "ok"
        assert person["statuses"]["Hips"] == "absent"
        assert all(person["reached"].values())
        assert person["contacts"].shape == (4,)
        assert person["bone_rotations"].shape == (23, 4)
        # The network may correct given proportions here, so that poses differ a little.
        gap = np.linalg.norm(person["root_position"] - expected.pose.root[row])
        assert gap < 0.1
    # Who is left out for longer than trackers are remembered is forgotten.
    people = [character("p0", tracks[0].sample(30))]
    run_job(pool, "TRACK_BODY", {"dt": 0.4, "characters": people})
    assert pool.crowd.names == ("p0", "p1")
    run_job(pool, "TRACK_BODY", {"dt": 1.7, "characters": people})
    assert pool.crowd.names == ("p0",)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"dt": 0.0}, "dt must be above 0"),
        ({"dt": "soon"}, "dt: expected a finite number"),
        ({"dt": None}, "dt: expected a finite number"),
        ({"characters": []}, "must be a list"),
        ({"characters": "abc"}, "must be a list"),
        ({"people": 1}, "unknown key 'people'"),
        ({"characters": [3]}, "character 0 must be a dictionary"),
        ({"characters": [{"name": ""}]}, "name: expected"),
        ({"characters": [{"name": "a"}]}, "trackers must map"),
        ({"characters": [{"name": "a", "tracker": {}}]}, "unknown key 'tracker'"),
        ({"characters": [{"name": "a", "trackers": {"Hed": None}}]}, "Head"),
        (
            {"characters": [{"name": "a", "trackers": {"Head": {"position": 1}}}]},
            "expected position and rotation",
        ),
        (
            {"characters": [{"name": "a", "trackers": {}, "shape": {"leg": 1.0}}]},
            "expected trunk, arm, leg",
        ),
        ({"characters": [{"name": "a", "trackers": {}}] * 2}, "given before"),
        (
            {"characters": [{"name": str(k), "trackers": {}} for k in range(9)]},
            "1 to 8 characters",
        ),
    ],
)
def test_wrong_jobs_are_one_line_and_move_nobody(
    change: dict[str, object],
    error: str,
    pool: NeuralIKPool,
    shipped_network: TrackerNetwork,
) -> None:
    pool.cache(shipped_network)
    before = pool.crowd.names
    data = {"dt": DT, "characters": [{"name": "a", "trackers": {}}]} | change
    answer = run_job(pool, "TRACK_BODY", data)
    assert answer["success"] is False
    assert error in answer["error"]
    assert len(answer["error"].splitlines()) == 1
    assert pool.crowd.names == before
