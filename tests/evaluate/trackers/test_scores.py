"""Scores of tracked bodies, and the command that prints them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.trackers import sequences

from ambulo.configs.errors import ConfigError
from ambulo.evaluate.command import main
from ambulo.evaluate.trackers.command import lost_hands
from ambulo.evaluate.trackers.nearest import NearestTrack, Neighbours
from ambulo.evaluate.trackers.scores import (
    errors_of,
    foot_points,
    ground_speed,
    jerk,
    motion_scores,
    pops,
)
from ambulo.ik.trackers.layout import LEFT_HAND, RIGHT_HAND, TRACKED
from ambulo.ik.trackers.shape import BodyShape
from ambulo.ik.trackers.tracks import POINTS, track_of
from ambulo.motion.formats.files import write_motion
from ambulo.motion.gaits.generated_walks import generated_walks
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample

SHIFT, DOWN = np.array([0.03, 0.04, 0.0]), np.array([0.0, 0.0, 0.06])


@pytest.fixture(scope="module")
def walk() -> Motion:
    return generated_walks(60.0, 4.0)[3]


def test_the_truth_has_no_errors(walk: Motion) -> None:
    scores = motion_scores(walk, walk)
    for name in ("mpjpe_cm", "legs_cm", "hands_cm", "mpjre_deg", "pops"):
        assert scores[name] == pytest.approx(0.0, abs=1e-4)
    assert scores["jerk"] == scores["true_jerk"]
    assert scores["skate_cm_s"] == scores["true_skate_cm_s"]
    assert scores["sunk_rate"] == 0.0


def test_a_shifted_body_is_as_far_as_it_is_shifted(walk: Motion) -> None:
    moved = walk.replace(root_positions=walk.root_positions + SHIFT)
    scores = motion_scores(moved, walk)
    assert scores["mpjpe_cm"] == pytest.approx(5.0)
    sunk = walk.replace(root_positions=walk.root_positions - DOWN)
    assert motion_scores(sunk, walk)["sunk_rate"] > 0.9


def test_a_body_that_is_dragged_skates(walk: Motion) -> None:
    ramp = np.linspace(0.0, 2.0, len(walk))[:, None] * [0.0, 1.0, 0.0]
    dragged = walk.replace(root_positions=walk.root_positions + ramp)
    speeds = [ground_speed(foot_points(m), 60.0).mean() for m in (walk, dragged)]
    assert speeds[1] > speeds[0] + 0.2


def test_jerk_of_a_cubic_is_its_third_derivative() -> None:
    t = np.arange(60) / 60.0
    path = np.stack([10.0 * t**3, 0.0 * t, 0.0 * t], axis=-1)[:, None]
    assert jerk(path, 60.0) == pytest.approx(0.6, rel=1e-6)


def test_a_jump_of_a_joint_is_one_pop(walk: Motion) -> None:
    true = motion_kinematics(walk)[0]
    found = true.copy()
    found[100:, 5] += [0.0, 0.0, 0.2]
    assert pops(found, true, 60.0) == 1
    assert pops(true, true, 60.0) == 0


@pytest.mark.parametrize("points", POINTS)
def test_tracks_are_those_of_the_joints(points: int, walk: Motion) -> None:
    track = track_of(walk, points)
    positions = motion_kinematics(walk)[0]
    assert track.present[0].sum() == points
    np.testing.assert_array_equal(track.positions, positions[:, TRACKED])
    noisy = track_of(walk, points, noise=0.002, seed=1)
    spread = (noisy.positions - track.positions).std()
    assert spread == pytest.approx(0.002, rel=0.05)


def test_one_hand_is_lost_at_a_time() -> None:
    lost = lost_hands(1080, 60.0)
    assert lost.sum(axis=1).max() == 1
    assert lost[:, LEFT_HAND].sum() == lost[:, RIGHT_HAND].sum() == 120


@pytest.mark.integration
@pytest.mark.parametrize(
    ("baselines", "names"),
    [
        ("no_network,standing", {"no_network", "standing"}),
        pytest.param("all", {"no_network", "standing"}, marks=pytest.mark.slow),
    ],
)
def test_the_command_scores_clips_of_a_folder(
    tmp_path: Path, walk: Motion, baselines: str, names: set[str]
) -> None:
    folder = tmp_path / "clips"
    folder.mkdir()
    write_motion(folder / "walk.bvh", walk[:150])
    write_motion(folder / "short.bvh", walk[:20])
    out = tmp_path / "out.json"
    arguments = [
        "ik_trackers", "--clips", str(folder), "--points", "6", "--rate", "72",
        "--noise-mm", "1", "--baselines", baselines, "--json", str(out), "--no-report",
    ]  # fmt: skip
    assert main(arguments) == 0
    data = json.loads(out.read_text())
    assert data["kind"] == "body_tracker"
    assert data["episodes"] == 1
    assert "short.bvh: shorter than a second" in data["details"]["refused"][0]
    policy, standing = data["agents"]["policy"], data["agents"]["standing"]
    assert policy["mpjpe_cm"]["value"] < 5.0 < standing["mpjpe_cm"]["value"]
    assert set(data["agents"]) == {"policy", *names}


def test_a_neighbour_of_the_data_is_found_again() -> None:
    data = sequences()
    neighbours = Neighbours(data, ["p0", "p1"])
    motion, shape = data.motion(0), BodyShape(*data.header.clips[0].shape)
    track = track_of(motion)
    player = NearestTrack(neighbours, shape)
    roots, turns = [], []
    for frame in range(0, 120, 2):
        root, local = player(track.sample(frame), 1.0 / 30.0)
        roots.append(root)
        turns.append(local)
    found = motion.replace(
        fps=30.0, root_positions=np.array(roots), rotations=np.array(turns)
    )
    true = resample(motion[:120], 30.0)[: len(found)]
    assert errors_of(found, true)[1:].mean() < 3.0
    with pytest.raises(ConfigError, match="none of the people that the model was"):
        Neighbours(data, ["nobody"])
