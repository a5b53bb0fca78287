from __future__ import annotations

import json
import os
import re

import pytest
from fixtures.untrained import untrained_navigator

from ambulo.common.find_model import find_model
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.families import generate
from ambulo.envs.vr.levels.level_io import level_data
from ambulo.evaluate.command import main
from ambulo.evaluate.locomotion.perturbations import GROUPS
from ambulo.evaluate.locomotion.walk_trials import TRIALS
from ambulo.policies.files.model_file import save_model

SCORES = {
    "success_rate", "spl", "soft_spl", "barn", "collisions_per_episode",
    "falls", "timeouts", "mean_time_s", "mean_path_m", "comfort_score", "return_mean",
}  # fmt: skip
SHORT = ["--level-set", "open,pits", "--episodes", "4", "--world", "compiled"]


@pytest.fixture
def model(tmp_path):
    """A run folder with an untrained best model and a logged training."""
    config = NavigationConfig().override("environment", max_episode_steps=250)
    config = config.override("network", net_arch=(8,))
    run = tmp_path / "run"
    (run / "best_models").mkdir(parents=True)
    file = run / "best_models" / "best_model.zip"
    save_model(file, untrained_navigator(config))
    (run / "config.json").write_text(config.to_json())
    (run / "run.json").write_text("{}")
    rows = ["timesteps,rollout/success_rate,rollout/ep_rew_mean"]
    rows += [f"{100 * i},{i / 20},{i}" for i in range(1, 21)] + ["2100,,"]
    (run / "metrics.csv").write_text("\n".join(rows) + "\n")
    (run / "evaluations.json").write_text(
        json.dumps([{"timesteps": 1000, "success_rate": 0.5, "spl": 0.4}])
    )
    return file


@pytest.mark.integration
def test_json_has_the_published_keys_and_the_report_holds_everything(
    model, tmp_path, capsys
):
    file, out = tmp_path / "scores.json", tmp_path / "out"
    arguments = [str(model), *SHORT, "--baselines", "straight,oracle"]
    assert main([*arguments, "--json", str(file), "--output", str(out)]) == 0
    data = json.loads(file.read_text())
    assert set(data) >= {"model", "kind", "episodes", "seed", "command", "agents"}
    assert data["kind"] == "vr_navigation"
    assert (data["model"], data["episodes"], data["seed"]) == (str(model), 4, 0)
    assert list(data["agents"]) == ["policy", "straight", "oracle"]
    for scores in data["agents"].values():
        assert set(scores) >= SCORES
        success = scores["success_rate"]
        assert set(success) == {"value", "low", "high", "unit"}
        assert success["low"] <= success["value"] <= success["high"]
    assert data["agents"]["oracle"]["success_rate"]["value"] == 1.0
    assert list(data["groups"]["family"]) == ["open", "pits"]
    assert len(data["groups"]["level"]) == 4
    oracle = [row for row in data["rows"] if row["agent"] == "oracle"]
    assert [row["episode"] for row in oracle] == [0, 1, 2, 3]
    assert all(row["success"] for row in oracle)
    assert json.loads((out / "evaluation.json").read_text()) == data
    shown = capsys.readouterr().out
    assert "policy" in shown
    assert "report.html" in shown
    assert len(re.findall(r"^ agent ", shown, re.M)) == 1, "a table per family"
    pictures = {p.name for p in out.glob("*.png")}
    assert {"trajectories.png", "learning_curve.png", "families.png"} <= pictures
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == len(pictures)
    assert "href=" not in page
    assert re.findall(r"src=.(?!data:)", page) == []
    assert not [p for p in out.iterdir() if p.name.startswith(".")]


def test_help_names_all_choices_and_who_takes_them():
    text = {
        part.split()[0]: " ".join(part.split())
        for part in main.parser().format_help().split("\n  --")
    }
    assert all(name in text["trials"] for name in TRIALS)
    assert all(name in text["perturb"] for name in GROUPS)
    for flag in ("impulses", "perturb"):
        assert "walkers and trackers: " in text[flag]
    assert "walkers and gait policies: " in text["push-episodes"]


def test_a_task_is_asked_for(capsys):
    arguments = ["none", *SHORT, "--task", "patrol", "--baselines", "oracle"]
    assert main([*arguments, "--no-report", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["evaluated"].startswith("4 episodes of patrol on open,pits")
    assert data["agents"]["oracle"]["spl"]["value"] > 0.95


def test_json_to_standard_output_stands_alone(capsys):
    arguments = ["none", *SHORT, "--baselines", "straight", "--no-report", "--json"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["model"] == "none"
    assert "straight" in captured.err


@pytest.mark.integration
def test_a_run_folder_stands_for_its_best_model(model, capsys):
    run = model.parent.parent
    assert find_model(run) == model
    assert main([str(run), *SHORT, "--baselines", "none", "--stochastic"]) == 0
    assert (run / "evaluation_1" / "report.html").is_file()


@pytest.mark.integration
def test_no_report_is_overwritten(tmp_path, capsys):
    out = tmp_path / "new" / "out"
    arguments = ["none", *SHORT, "--baselines", "straight", "--output", str(out)]
    assert main([*arguments, "--json", str(out / "scores.json")]) == 0
    first = (out / "report.html").read_bytes()
    assert (out / "scores.json").is_file()
    (out / "evaluation_2").mkdir()
    assert main(arguments) == 0
    assert (out / "report.html").read_bytes() == first
    made = sorted(path.name for path in out.iterdir() if path.is_dir())
    assert made == ["evaluation_2", "evaluation_3"]
    assert str(out / "evaluation_3" / "report.html") in capsys.readouterr().out


@pytest.mark.integration
def test_a_film_may_lie_in_the_new_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(os.environ, "MUJOCO_GL", "disable")
    out = tmp_path / "out"
    arguments = ["none", *SHORT, "--baselines", "oracle", "--output", str(out)]
    assert main([*arguments, "--video", str(out / "film.mp4")]) == 0
    assert "no video: no OpenGL" in capsys.readouterr().out
    missing = tmp_path / "absent" / "film.mp4"
    assert main([*arguments, "--no-report", "--video", str(missing)]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "out"
    assert main(["none", *SHORT, "--output", str(out)]) == 2
    assert str(out) in capsys.readouterr().err


@pytest.mark.integration
def test_a_full_disk_leaves_nothing_half_written(tmp_full_disk, capsys):
    out = tmp_full_disk / "out"
    (tmp_full_disk / "filler").write_bytes(bytes(180 * 1024))
    arguments = ["none", *SHORT, "--baselines", "straight,oracle"]
    assert main([*arguments, "--output", str(out)]) == 2
    error = capsys.readouterr().err
    assert "cannot be written" in error
    assert error.count("\n") == 1
    assert not [p for p in out.rglob("*") if p.name.startswith(".")]
    assert not (out / "report.html").exists()


def test_no_opengl_skips_the_video_with_a_message(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(os.environ, "MUJOCO_GL", "disable")
    film = tmp_path / "film.mp4"
    arguments = ["none", *SHORT, "--baselines", "oracle", "--no-report"]
    assert main([*arguments, "--video", str(film)]) == 0
    assert "no video: no OpenGL" in capsys.readouterr().out
    assert not film.exists()


def test_names_from_level_files_are_plain_text(tmp_path, capsys):
    """Dollars are no formulas, brackets no colours; names with HTML are refused."""
    names = ["a $e_^$ [/b]", "b | 'c'"]
    for number, name in enumerate(names):
        level = level_data(generate("open", number))
        level |= {"name": name, "family": f"{name}!"}
        (tmp_path / f"{number}.json").write_text(json.dumps(level))
    arguments = ["none", "--episodes", "2", "--level-file", str(tmp_path)]
    out = tmp_path / "[/out]"
    arguments += ["--baselines", "oracle", "--world", "compiled", "--output", str(out)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert f"{names[0]}!" in printed
    assert str(out / "report.html") in printed
    file = tmp_path / "0.json"
    file.write_text(json.dumps(level | {"name": "<script src=x>"}))
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"ambulo: error: {file}: ")
    assert "without any of <" in error
