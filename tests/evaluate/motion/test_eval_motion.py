from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from fixtures.exits import refusal

from ambulo.configs.motion_nn import MotionNNConfig, MotionRunConfig
from ambulo.evaluate.motion.evaluation import network_predictor
from ambulo.evaluate.motion.pictures import shown_windows
from ambulo.evaluate.motion.windows import EvalClip, WindowPlan, cut_windows
from ambulo.motion.datasets.clips import scan_clips
from ambulo.motion.datasets.splits import make_split
from ambulo.motion.formats.files import write_motion
from ambulo.policies.files.model_file import ModelFile, save_model
from ambulo.policies.kinds.motion_nn import MotionMetadata
from ambulo.policies.networks.motion_nn import MotionNN
from ambulo.train.eval_motion import main

PICTURES = {
    "horizons.png", "growth.png", "root_paths.png", "joint_traces.png", "activities.png",
}  # fmt: skip
METHODS = [
    "zero_velocity", "constant_velocity", "constant_velocity_xyz", "damped_velocity",
    "ridge", "ridge_xyz",
]  # fmt: skip


def small_network(**changes):
    config = MotionNNConfig(
        mode="mlp", width=16, depth=1, history=4, chunk=5, **changes
    )
    torch.manual_seed(0)
    return config, MotionNN(config).eval()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    """Prepared clips of these tests stay together, away from the user's."""
    folder = tmp_path_factory.getbasetemp() / "motion_cache"
    monkeypatch.setenv("AMBULO_MOTION_CACHE", str(folder))


def make_run(root, walk_motion):
    """A run folder: an untrained network and a split over six short walks."""
    data = root / "data"
    for subject in range(1, 7):
        folder = data / f"{subject:02d}"
        folder.mkdir(parents=True)
        walk = walk_motion(frames=385, speed=0.9 + 0.1 * subject)
        write_motion(folder / f"{subject:02d}_01_walk.npz", walk)
    clips, _ = scan_clips(data)
    split = make_split(clips, test_subjects=("02",), validation_ratio=0.2)
    folder = root / "run"
    (folder / "best_models").mkdir(parents=True)
    split.save(folder / "split_info.json", [data])
    config, network = small_network()
    model = ModelFile(
        MotionMetadata.describe(MotionRunConfig(model=config)),
        dict(network.state_dict()),
    )
    save_model(folder / "best_models" / "best_model.zip", model)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory, walk_motion):
    """A run folder that all tests read."""
    return make_run(tmp_path_factory.mktemp("shared"), walk_motion)


@pytest.fixture
def own_run(tmp_path, walk_motion):
    """A run folder that a test may damage."""
    return make_run(tmp_path, walk_motion)


@pytest.mark.integration
def test_table_json_and_pictures(run, tmp_path, capsys):
    file, out = tmp_path / "scores.json", tmp_path / "out"
    arguments = ["--model", str(run), "--use_test_set", "--num_frames", "500"]
    assert (
        main([*arguments, "--no-video", "--json", str(file), "--output", str(out)]) == 0
    )
    data = json.loads(file.read_text())
    details, horizons = data["details"], data["groups"]["horizon"]
    assert data["kind"] == "motion_nn"
    assert details["part"] == "test"
    assert (details["fps"], details["history"]) == (25.0, 10)
    assert list(data["agents"]) == ["policy", *METHODS]
    assert details["windows"]["names"] == ["02_01"]
    assert details["windows"]["predicted_frames"] == 25
    assert details["growth_windows"]["predicted_frames"] == 60
    assert list(horizons) == ["80", "160", "320", "400", "560", "1000"]
    assert list(data["groups"]["activity"]) == ["walk"]
    for name, metrics in data["agents"].items():
        assert (metrics["npss"]["value"] is None) == name.endswith("_xyz")
        assert details["growth"][name]["mpjpe_mm"]["steps"] == [1, 5, 10, 30, 60]
        rows = [row for row in data["rows"] if row["agent"] == name]
        assert len(rows) == data["episodes"]
        mean = np.mean([row["mpjpe_mm"]["400"] for row in rows])
        assert mean == pytest.approx(horizons["400"][name]["mpjpe_mm"]["value"])
    ridge = details["model_minus"]["ridge"]["400"]
    at_400 = horizons["400"]
    difference = (
        at_400["policy"]["mpjpe_mm"]["value"] - at_400["ridge"]["mpjpe_mm"]["value"]
    )
    assert ridge[0] == pytest.approx(difference)
    assert ridge[1:] == pytest.approx([difference, difference])  # a single clip
    assert details["truth"]["foot_skate_cm_s"] > 0.0
    assert {t["met"] for t in details["targets"]} <= {True, False}
    shown = capsys.readouterr().out
    assert "constant_velocity_xyz" in shown
    assert "Target" in (out / "report.html").read_text()
    assert {p.name for p in out.glob("*.png")} == PICTURES
    assert json.loads((out / "evaluation.json").read_text()) == data
    assert not [p for p in out.iterdir() if p.name.startswith(".")]


@pytest.mark.slow
def test_films_show_truth_and_prediction_side_by_side(run, tmp_path):
    import imageio.v2 as imageio

    out = tmp_path / "out"
    assert main(["--model", str(run), "--windows", "3", "--output", str(out)]) == 0
    for name in ("prediction.mp4", "prediction.gif"):
        with imageio.get_reader(out / name) as film:
            frames = [frame[..., :3] for frame in film]
        assert len(frames) >= 50  # 71 frames at 25 Hz; a GIF has 20 a second
        height, width, _ = frames[0].shape
        assert width > 1.7 * height
        left, right = (
            np.asarray(frames[-1])[60:, side]
            for side in (slice(0, width // 2), slice(width // 2, None))
        )
        assert np.abs(left.astype(float) - right).mean() > 0.5  # an untrained network


@pytest.mark.integration
def test_two_evaluations_are_equal(run, capsys):
    arguments = ["--model", str(run), "--no-report", "--windows", "5", "--json"]
    texts = []
    for _ in range(2):
        assert main(arguments) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    data = json.loads(texts[0])["details"]
    assert data["part"] == "validation"
    assert data["windows"]["windows"] == 5


@pytest.mark.integration
def test_baselines_alone_and_horizons_of_choice(run, capsys):
    split = run / "split_info.json"
    arguments = ["--model", "none", "--split_file", str(split), "--use_test_set"]
    chosen = ["--horizons", "400,40", "--no-report", "--json", "--num-frames", "21"]
    assert main([*arguments, *chosen]) == 0
    captured = capsys.readouterr()
    data = json.loads(captured.out)
    assert list(data["agents"]) == METHODS
    assert list(data["groups"]["horizon"]) == ["40", "400"]
    data = data["details"]
    assert data["windows"]["windows"] == 1  # 11 known and 10 later frames
    assert data["growth_windows"] is None
    assert data["targets"] == []
    assert "zero_velocity" in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--num_frames", "20"], "--num_frames 20: a window has 36 frames"),
        (["--num_frames", "0"], "--num-frames 0: must be at least 1"),
        (["--windows", "-1"], "--windows -1"),
        (["--stride", "0"], "--stride 0"),
        (["--seed", "-1"], "--seed -1"),
        (["--horizons", "80,fast"], "'fast' is no time in ms"),
        (["--horizons", "0"], "'0' is no time in ms"),
        (["--horizons", ""], "'' is no time in ms"),
        (["--split_file", "absent.json"], "absent.json: no such file"),
        (["--json", "no/such/folder/a.json"], "no such folder"),
        (["--device", "nonsense"], "--device nonsense"),
        (["--frobnicate"], "--frobnicate"),
    ],
)
def test_bad_flags_are_one_line_and_leave_nothing(
    run, tmp_path, capsys, arguments, message
):
    out = tmp_path / "out"
    flags = ["--model", str(run), "--output", str(out), *arguments]
    assert message in refusal(main, flags, capsys)
    assert not out.exists()


def test_horizons_longer_than_all_clips_are_refused(run, tmp_path, capsys):
    flags = ["--model", str(run), "--output", str(tmp_path / "out")]
    error = refusal(main, [*flags, "--horizons", "60000"], capsys, alone=False)
    assert "no clip has the" in error
    assert not (tmp_path / "out").exists()


def test_a_model_of_another_kind_or_layout_is_refused(run, tmp_path, capsys):
    from ambulo.policies.files.archive import read_archive, zipped

    file = run / "best_models" / "best_model.zip"
    members = read_archive(file)
    for key, value in (("state_size", 202), ("kind", "vr_navigation")):
        header = {**json.loads(members["ambulo.json"]), key: value}
        other = {**members, "ambulo.json": json.dumps(header).encode()}
        bad = tmp_path / f"{key}.zip"
        bad.write_bytes(zipped(other))
        split = str(run / "split_info.json")
        assert main(["--model", str(bad), "--split_file", split]) == 2
        error = capsys.readouterr().err
        assert key in error
        assert error.count("\n") == 1
    assert main(["--model", str(tmp_path / "absent.zip")]) == 2
    assert "no such model" in capsys.readouterr().err


@pytest.mark.integration
def test_a_missing_or_changed_clip_is_named(own_run, tmp_path, capsys):
    arguments = ["--model", str(own_run), "--no-report", "--use_test_set"]
    clip = tmp_path / "data" / "02" / "02_01_walk.npz"
    moved = tmp_path / "elsewhere"
    shutil.move(tmp_path / "data", moved)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert "is missing" in error
    assert error.count("\n") == 1
    chosen = ["--data", str(moved), "--num_frames", "36", "--json"]
    assert main([*arguments, *chosen]) == 0
    capsys.readouterr()
    clip = moved / "02" / "02_01_walk.npz"
    clip.write_bytes(clip.read_bytes() + b" ")
    assert main([*arguments, "--data", str(moved)]) == 2
    error = capsys.readouterr().err
    assert "02_01_walk.npz" in error
    assert "has changed" in error


def test_a_split_without_test_clips_is_refused(own_run, capsys):
    file = own_run / "split_info.json"
    data = json.loads(file.read_text())
    data["clips"] = [clip for clip in data["clips"] if clip["part"] != "test"]
    file.write_text(json.dumps(data))
    assert main(["--model", str(own_run), "--use_test_set", "--no-report"]) == 2
    error = capsys.readouterr().err
    assert "the split has no test clips" in error
    assert error.count("\n") == 1


def test_a_model_without_a_split_asks_for_one(run, tmp_path, capsys):
    model = tmp_path / "alone.zip"
    shutil.copy(run / "best_models" / "best_model.zip", model)
    assert main(["--model", str(model), "--no-report"]) == 2
    assert "give --split_file" in capsys.readouterr().err


def test_the_network_gets_its_own_history_and_only_the_past():
    config, network = small_network()
    rng = np.random.default_rng(0)
    clip = np.cumsum(rng.normal(scale=0.01, size=(60, 56)), axis=0)
    clip[:, 5] += 0.95
    clips = [EvalClip("01_01", "walk", clip)]
    windows = cut_windows(clips, WindowPlan(10, 25.0, ()), 25)
    predict = network_predictor(network)
    found = predict(windows.past, 25, 25.0)
    later = windows.past[:, -(config.history + 1) :]
    again = predict(later, 25, 25.0)
    assert found.world == pytest.approx(again.world, abs=1e-5)
    assert found.world.shape == (len(windows), 25, 17, 3)
    assert found.velocities is not None
    step = found.poses.positions[:, 1, 3:6] - found.poses.positions[:, 0, 3:6]
    assert found.velocities[:, 1, 3:6] == pytest.approx(25.0 * step, abs=1e-3)


def test_shown_windows_are_neither_still_nor_the_best_nor_the_worst():
    clip = np.zeros((400, 56))
    clip[100:, 3] = 0.04 * np.arange(300)
    clips = [EvalClip(f"0{k}_01", "walk", clip) for k in range(3)]
    windows = cut_windows(clips, WindowPlan(9, 25.0, ()), 25)
    rows = shown_windows(np.arange(float(len(windows))), windows)
    assert len(rows) == len({int(windows.clips[row]) for row in rows}) == 3
    assert all(windows.starts[row] > 50 for row in rows)
    assert 0.3 * len(windows) < rows[0] < 0.8 * len(windows)


@pytest.mark.integration
def test_without_clips_generated_walks_are_predicted(tmp_path, capsys):
    from ambulo.evaluate.command import main as evaluate

    arguments = ["motion_nn", "--episodes", "6", "--no-report", "--json"]
    assert evaluate(arguments) == 0
    data = json.loads(capsys.readouterr().out)
    assert "generated from the shipped healthy walk" in data["evaluated"]
    assert data["details"]["part"] == "generated walks"
    errors = {
        name: row["mpjpe_mm"]["value"]
        for name, row in data["groups"]["horizon"]["400"].items()
    }
    assert errors["policy"] < errors["zero_velocity"]
