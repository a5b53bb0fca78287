"""`ambulo gait`: walks from parameters, and parameters from walks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ambulo.cli import main as ambulo
from ambulo.commands.gait.estimate import joined
from ambulo.commands.gait.generate import generated
from ambulo.commands.gait.observing import observe
from ambulo.commands.gait.reference import at_speed
from ambulo.commands.gait.train_estimator import given_names
from ambulo.configs.errors import ConfigError
from ambulo.configs.gait import GaitSpace
from ambulo.evaluate.gait.curves import cycle_curves, facts_of
from ambulo.evaluate.gait.network_results import nominal_speed
from ambulo.motion.formats.files import read_motion, write_motion
from ambulo.motion.kinematics import joint_positions
from ambulo.policies.agents.gait_network import load_gait_network
from ambulo.policies.networks.gait_net import GaitNet


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, output and errors of the command."""
    code = ambulo(["gait", *map(str, arguments)])
    told = capsys.readouterr()
    return code, told.out, told.err


@pytest.mark.parametrize("ending", ["bvh", "npz"])
def test_generated_walk_has_the_stride_and_cadence(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    out = tmp_path / f"walk.{ending}"
    code, told, _ = run(
        capsys, "generate", "--model", model, "--stride", 1.1, "--cadence", 0.9,
        "--cycles", 4, "--out", out,
    )  # fmt: skip
    assert code == 0
    assert str(out) in told
    motion = read_motion(out)
    # 30 frames a cycle; healthy are 1.1 s and 1.3133 m.
    assert len(motion) == 120
    assert motion.fps == pytest.approx(30.0 * 0.9 / 1.1, rel=1e-4)
    way = np.diff(motion.root_positions[[0, 30], :2], axis=0)[0]
    assert np.hypot(*way) == pytest.approx(1.1 * 1.3133, rel=0.02)


def test_the_walk_repeats_without_a_seam(network: GaitNet, model: Path) -> None:
    motion, facts = generated(load_gait_network(model), network.space.default, 3)
    places = joint_positions(motion)
    way = places[30] - places[0]
    np.testing.assert_allclose(way, np.tile(way[0], (len(way), 1)), atol=1e-9)
    np.testing.assert_allclose(way[0, 1:], 0.0, atol=1e-9)
    np.testing.assert_allclose(places[60] - places[30], way, atol=1e-9)
    assert facts.stride_length == pytest.approx(way[0, 0])
    assert facts.speed == pytest.approx(way[0, 0] * motion.fps / 30.0)
    # The step over the seam is as any other.
    steps = np.linalg.norm(np.diff(places, axis=0), axis=-1).max(axis=1)
    assert steps[29] <= steps[:29].max()


def test_rate_is_rounded_to_whole_frames(network: GaitNet, model: Path) -> None:
    motion, _ = generated(load_gait_network(model), network.space.default, 2, fps=60.0)
    # A cycle of 1.1 s has 66 frames at 60 fps.
    assert len(motion) == 2 * 66
    assert motion.fps == pytest.approx(60.0)


def test_parameters_are_listed(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, told, _ = run(capsys, "generate", "--model", model, "--parameters")
    assert code == 0
    assert "13 parameters" in told
    assert "femur_torsion_right" in told


@pytest.mark.integration
def test_film_loops(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import imageio.v3 as imageio

    out = tmp_path / "walk.gif"
    code, _, _ = run(capsys, "generate", "--model", model, "--cycles", 1, "--out", out)
    assert code == 0
    assert len(imageio.imread(out)) == 22  # 1.1 s at 20 frames a second


def test_curves_of_the_healthy_walk(model: Path, space: GaitSpace) -> None:
    motion = load_gait_network(model).to_motion(space.default, 2)
    curves = cycle_curves(motion, 30)
    hip, knee, _ = curves.mean(axis=0)
    assert 30.0 < np.ptp(hip) < 60.0
    assert 45.0 < np.ptp(knee) < 75.0
    # The knee bends most in swing, the hip least at the end of stance.
    assert 60 <= np.argmax(knee) <= 85
    assert 40 <= np.argmin(hip) <= 60
    np.testing.assert_allclose(curves[0], curves[1], atol=4.0)


def test_facts_want_whole_cycles(model: Path, space: GaitSpace) -> None:
    motion = load_gait_network(model).to_motion(space.default, 2)
    with pytest.raises(Exception, match="not whole cycles of 30"):
        facts_of(motion, 30)


def test_a_clip_is_seen_as_the_network_sees_it(model: Path, space: GaitSpace) -> None:
    network = load_gait_network(model)
    values = space.vector(stride=1.15, cadence=0.9)
    motion = network.to_motion(values, 6, fps=60.0)
    observed = observe(motion, network)
    assert len(observed) > 2
    said = network.frames(values)
    for one in observed:
        assert one.measured["stride"] == pytest.approx(1.15, abs=0.03)
        assert one.measured["cadence"] == pytest.approx(0.9, abs=0.01)
        assert np.abs(one.poses[:, :6] - said[:, :6]).max() < 0.15
        assert np.sqrt(np.square(one.poses - said).mean()) < 0.05


@pytest.mark.integration
def test_estimate_finds_what_was_generated(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walk, out = tmp_path / "walk.bvh", tmp_path / "found.json"
    network = load_gait_network(model)
    values = network.space.vector(stride=1.15, cadence=0.85)
    write_motion(walk, network.to_motion(values, 5))
    code, told, _ = run(
        capsys, "estimate", walk, "--model", model, "--json", out,
        "--set", "femur_torsion_left=0", "--set", "femur_torsion_right=0",
    )  # fmt: skip
    assert code == 0
    assert "cadence" in told
    data = json.loads(out.read_text())
    found = {row["name"]: row for row in data["optimisation"]["parameters"]}
    # Within 5 % of the ranges, which are 0.5 wide.
    assert found["stride"]["value"] == pytest.approx(1.15, abs=0.025)
    assert found["cadence"]["value"] == pytest.approx(0.85, abs=0.025)
    assert found["global"]["given"]
    assert found["stride"]["identified"]
    assert found["stride"]["deviation"] > 0.0


@pytest.mark.integration
def test_joined_estimates_doubt_what_strides_disagree_on(network: GaitNet) -> None:
    from ambulo.policies.networks.gait_inverse import GaitInverse

    inverse = GaitInverse(network, network.space, starts=1)
    one = inverse.estimate(inverse.predicted(np.full(13, 0.6)))
    other = inverse.estimate(inverse.predicted(np.full(13, 0.4)))
    both = joined([one, other])
    np.testing.assert_allclose(both.values, (one.values + other.values) / 2.0)
    apart = np.abs(one.values - other.values) / 2.0
    assert (both.deviation >= apart - 1e-12).all()
    assert joined([one, one]).deviation == pytest.approx(one.deviation)


def test_speeds_are_shared_by_stride_and_cadence(space: GaitSpace) -> None:
    healthy = nominal_speed(space, space.default)
    assert healthy == pytest.approx(1.3133 / 1.1)
    fast = space.named(at_speed(space, space.default, 1.21 * healthy))
    assert fast["stride"] == pytest.approx(1.1)
    assert fast["cadence"] == pytest.approx(1.1)
    assert nominal_speed(space, at_speed(space, space.default, 1.4)) == pytest.approx(
        1.4
    )
    with pytest.raises(ConfigError, match=r"--speeds 3: .* 0\.67 to 1\.87 m/s"):
        at_speed(space, space.default, 3.0)


def test_given_names(space: GaitSpace) -> None:
    assert given_names(["stride", "global"], space) == ("stride", "global")
    assert len(given_names(["lengths"], space)) == 9
    assert given_names(["known"], space) == space.names
    assert given_names([], space) == ()


@pytest.mark.integration
def test_estimator_and_report(
    model: Path, refined: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    estimator, results = tmp_path / "estimator.zip", tmp_path / "results.json"
    code, told, _ = run(
        capsys, "train-estimator", "--model", model, "--data", refined, "--out",
        estimator, "--given", "lengths", "femur_torsion_left", "femur_torsion_right",
        "--json", results,
    )  # fmt: skip
    assert code == 0
    assert "cadence" in told
    found = json.loads(results.read_text())
    stride = found["optimisation"]["parameters"]["stride"]
    assert stride["error"] < 0.05
    assert set(found["optimisation"]["parameters"]) == {"stride", "cadence"}

    folder = tmp_path / "report"
    code, _, _ = run(
        capsys, "report", "--model", model, "--data", refined, "--estimator", estimator,
        "--output", folder, "--most", 4, "--no-video",
    )  # fmt: skip
    assert code == 0
    pictures = {"curves", "errors", "speeds", "ranges", "recovery"}
    assert {path.stem for path in folder.glob("*.png")} == pictures
    assert "<img" in (folder / "report.html").read_text()
    whole = json.loads((folder / "evaluation.json").read_text())
    assert whole["kind"] == "gait_net"
    agents, data = whole["agents"], whole["details"]
    assert data["held_out"]["legs_deg"] < 1.0
    assert agents["policy"]["legs_deg"]["value"] == data["held_out"]["legs_deg"]
    assert agents["policy"]["legs_deg"]["value"] < agents["mean"]["legs_deg"]["value"]
    assert set(data["recovery"]) == {"policy"}
    walks = [walk for walk in data["walks"] if walk["parameter"] == "cadence"]
    speeds = [walk["speed"] for walk in walks]
    assert speeds == sorted(speeds)
    assert walks[0]["speed"] == pytest.approx(walks[0]["nominal_speed"], rel=0.03)


def test_report_needs_data_for_an_estimator(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, error = run(
        capsys, "report", "--model", model, "--estimator", "e.zip", "--output",
        tmp_path / "report",
    )  # fmt: skip
    assert code == 2
    assert "give --data" in error
    assert not (tmp_path / "report").exists()


@pytest.mark.slow
def test_generated_gaits_are_followed(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ambulo.configs.locomotion import LocomotionConfig
    from ambulo.envs.locomotion.build import make_batch

    out = tmp_path / "walks.npz"
    code, told, _ = run(
        capsys, "reference", "--model", model, "--speeds", 1.0, 1.3, "--out", out
    )
    assert code == 0
    assert told.count("m/s: standing soles") == 2
    settings = {
        "task": "locomote", "reference": str(out), "speed": (1.0, 1.25), "turn": (0, 0),
        "command_interval": (50, 51), "max_episode_steps": 150,
    }  # fmt: skip
    config = LocomotionConfig.model_validate({"environment": settings})
    batch = make_batch(config, 8, seed=0)
    batch.reset(np.arange(8))
    still = np.zeros((8, batch.action_size))
    fallen = np.zeros(8, dtype=bool)
    for _ in range(149):
        fallen |= batch.step(still)[2]
    assert not fallen.any()
    assert batch.state.heading[:, 0] == pytest.approx(batch.command[:, 0], abs=0.2)
