"""Bad input and faults: exit code 2, one line on stderr, nothing left behind."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest
from fixtures.exits import exit_code, refusal

from ambulo import cli
from ambulo.configs.presets import VR_PRESETS
from ambulo.train.shared.run_folders import NavigationRunFolder
from ambulo.train.train_vr_navigation import main as train

QUICK = ["--preset", "quick_test", "--no-progress"]
FEW_LEVELS = ["--set", "environment.levels_per_family=1"]


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit code and error text of a training command."""
    code = exit_code(train, arguments)
    captured = capsys.readouterr()
    assert captured.out == ""
    return code, captured.err


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The line of a training command that refuses its arguments."""
    code, error = run(arguments, capsys)
    assert code == 2
    assert error.startswith("ambulo: error: ")
    assert error.count("\n") == 1
    return error


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)


def left_behind() -> list[str]:
    return sorted(os.listdir("."))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "quik_test"], "unknown preset 'quik_test' (did you mean"),
        ([*QUICK, "--timesteps", "-5"], "training.total_timesteps = -5"),
        ([*QUICK, "--timesteps", "many"], "invalid int value: 'many'"),
        ([*QUICK, "--num-envs", "0"], "environment.num_environments = 0"),
        ([*QUICK, "--episodes", "0"], "--episodes 0"),
        ([*QUICK, "--num-envs", str(2**63)], f"beyond {2**63 - 1}"),
        ([*QUICK, "--num-envs", str(2**62)], "less than or equal to 1000000000000"),
        ([*QUICK, "--set", "ppo.n_steps=1000000000000"], "out of memory"),
        ([*QUICK, "--set", "ppo.learning_rate=" + "1" + "0" * 400], "401 digits"),
        ([*QUICK, "--set", "ppo.clip_range=1e300"], "1e+300: beyond 1e+30"),
        ([*QUICK, "--set", "observations.ray_length=1e-300"], "ray_length = 1e-300"),
        ([*QUICK, "--set", "network.net_arch=" + "[" * 5000], "more than 100 deep"),
        ([*QUICK, "--set", r'training.device="\ud800"'], "half a character"),
        ([*QUICK, "--set", "ppo.lerning_rate=1"], "did you mean 'ppo.learning_rate'"),
        ([*QUICK, "--set", "poo.gamma=1"], "did you mean 'ppo'"),
        ([*QUICK, "--set", "ppo.gamma"], "expected KEY=VALUE"),
        ([*QUICK, "--set", "ppo.gamma=fast"], 'ppo.gamma = "fast"'),
        ([*QUICK, "--set", "environment.levels=mazes"], "did you mean 'maze'"),
        ([*QUICK, "--level-file", "none.json"], "no such level file or folder"),
        (
            [*QUICK, "--world", "godot", "--godot-bin", "/gone"],
            "'/gone': no such program",
        ),
        (
            [*QUICK, "--world", "godot", "--godot-url", "ftp://x"],
            "godot_url = 'ftp://x'",
        ),
        ([*QUICK, "--world", "godot", "--godot-bin", "ls"], "needs Godot 4.5 or newer"),
        (
            ["--eval", "none", "--world", "godot", "--godot-bin", "ls"],
            "needs Godot 4.5 or newer",
        ),
        (
            [*QUICK, "--world", "godot", "--set", "environment.godot_project=/gone"],
            "'/gone': holds no project.godot",
        ),
        ([*QUICK, "--godot-engines", "0"], "environment.godot_engines = 0"),
        ([*QUICK, "--godot-engines", "2"], "--godot-engines: needs --world godot"),
        (
            [*QUICK, "--world", "godot", "--num-envs", "2", "--godot-engines", "3"],
            "more than the 2 envs",
        ),
        (
            ["--eval", "none", "--godot-url", "http://127.0.0.1:9"],
            "--godot-url: needs --world godot, this is compiled",
        ),
        ([*QUICK, "--world", "unity"], "environment.world"),
        ([*QUICK, "--set", "rewards.custom=no.such:Term"], "rewards.custom"),
        ([*QUICK, "--log-level", "loud"], "--log-level loud: unknown level"),
        ([*QUICK, "--fast"], "unrecognized arguments: --fast"),
        (["--resume", "x", "--init-from", "y"], "exclude each other"),
        ([*QUICK, "--output", "~nobody-here/runs"], "home directory"),
        (["--eval", "none", "--world", "unity"], "--world: unknown 'unity'"),
        (["--eval", "none", "--num-envs", "0"], "--num-envs 0"),
        (["--eval", "none", "--godot-engines", "0"], "--godot-engines 0"),
    ],
)
def test_bad_input(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(arguments, capsys)
    assert left_behind() == []


WRONG_ENGINES = [
    ("godot_bin", "/gone", "no such program"),
    ("godot_bin", "ls", "needs Godot 4.5 or newer"),
    ("godot_url", "http://127.0.0.1:{port}", "Godot at http://127.0.0.1:{port}: "),
    ("godot_url", "http://192.0.2.1:80", "AMBULO_TOKEN is not sent to 192.0.2.1"),
]


@pytest.mark.parametrize("command", ["train", "eval"])
@pytest.mark.parametrize(("key", "value", "message"), WRONG_ENGINES)
def test_a_wrong_engine_is_told_before_levels_are_built(
    command: str,
    key: str,
    value: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def too_late(*_: object, **__: object) -> None:
        raise AssertionError("levels are built")

    for place in (
        "task.bank.LevelBank.__init__",
        "families.level_sets.generate",
        "task.build.fitting_level",
    ):
        monkeypatch.setattr(f"ambulo.envs.vr.{place}", too_late)
    monkeypatch.setenv("AMBULO_TOKEN", "secret")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    flags = ["--world", "godot", f"--{key.replace('_', '-')}", value.format(port=port)]
    start = QUICK if command == "train" else ["--eval", "none"]
    assert message.format(port=port) in refused([*start, *flags], capsys)
    assert left_behind() == []


def test_a_failed_start_names_no_file_that_is_gone(
    godot_program: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = tmp_path / "godot"
    broken.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = --version ] && exec {godot_program} --version\n'
        "echo no luck today\nexit 4\n"
    )
    broken.chmod(0o755)
    arguments = [*QUICK, "--world", "godot", "--godot-bin", str(broken), "--num-envs"]
    code, error = run([*arguments, "2", *FEW_LEVELS], capsys)
    assert code == 2
    assert "exit code 4" in error
    assert "no luck today" in error
    assert "engine-0.log" not in error
    assert left_behind() == []


@pytest.mark.parametrize("flag", ["--eval", "--resume"])
@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 and no more", b"\x80\x04pickle"])
def test_damaged_model(
    flag: str, data: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("model.zip").write_bytes(data)
    error = refused([flag, "model.zip"], capsys)
    assert error.startswith("ambulo: error: model.zip: ")
    assert left_behind() == ["model.zip"]


def test_output_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("", encoding="utf-8")
    assert "cannot be written" in refused([*QUICK, "--output", "file/runs"], capsys)
    assert left_behind() == ["file"]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is read-only on Linux")
def test_read_only_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot be written" in refused([*QUICK, "--output", "/proc/ambulo"], capsys)
    assert left_behind() == []


def test_a_run_is_not_overwritten_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    Path("runs/first").mkdir(parents=True)
    Path("runs/first/notes.txt").write_text("mine", encoding="utf-8")
    code, error = run([*QUICK, "--run-name", "first"], capsys)
    assert code == 2
    assert "--resume runs/first" in error.replace("\\", "/")
    code, error = run([*QUICK, "--run-name", "first", "--force"], capsys)
    assert code == 2, "--force replaces runs, not other folders"
    assert "is not the folder of a run" in error
    assert Path("runs/first/notes.txt").read_text(encoding="utf-8") == "mine"


def test_full_disk(tmp_full_disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*QUICK, "--timesteps", "64", "--output", str(tmp_full_disk)]
    more = ["--run-name", "a", "--set", "ppo.n_steps=4", "--eval-freq", "0"]
    error = refusal(train, [*arguments, *more], capsys, alone=False)
    assert "No space left on device" in error
    assert not list(tmp_full_disk.rglob("*.tmp"))
    assert not list(tmp_full_disk.rglob("*.zip")), "no half-written model"


def test_verbose_shows_the_traceback_too(capsys: pytest.CaptureFixture[str]) -> None:
    code, error = run([*QUICK, "--verbose", "--level-file", "none.json"], capsys)
    assert code == 2
    assert error.startswith("Traceback")
    assert error.splitlines()[-1].startswith("ambulo: error: none.json: no such level")


def test_a_run_survives_a_replacement_that_cannot_start(
    capsys: pytest.CaptureFixture[str],
) -> None:
    old = NavigationRunFolder("runs/a")
    old.best_model.parent.mkdir(parents=True)
    old.describe("{}\n", [], 0)
    old.best_model.write_bytes(b"weeks of training")
    arguments = [*QUICK, "--run-name", "a", "--force", "--init-from", "none.zip"]
    code, error = run(arguments, capsys)
    assert code == 2
    assert "none.zip: no such model file" in error
    assert old.best_model.read_bytes() == b"weeks of training"
    assert os.listdir("runs") == ["a"]


def test_resume_with_save_config_does_not_train(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_folder = NavigationRunFolder("runs/a")
    run_folder.checkpoints.mkdir(parents=True)
    run_folder.describe(VR_PRESETS.load("quick_test").to_json(), [], 0)
    code, error = run(["--resume", "runs/a", "--save-config", "c.json"], capsys)
    assert code == 0
    assert "settings written to" in error
    assert Path("c.json").read_text("utf-8") == VR_PRESETS.load("quick_test").to_json()
    assert list(run_folder.checkpoints.iterdir()) == []


def test_commands_of_ambulo(capsys: pytest.CaptureFixture[str]) -> None:
    start = "ambulo: error: unknown command 'traan' (did you mean 'train'"
    assert refusal(cli.main, ["traan"], capsys).startswith(start)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["export", "none.zip", "--out", "a.onnx"], "none.zip: no such model file"),
        (["export", "none.zip", "--out", "b/a.onnx"], "b: no such folder"),
        (["export", ".", "--out", "a.onnx"], "this folder holds no model"),
        (["export", "none.zip", "--out", "a.txt"], "end in .onnx, .json or .ambulo"),
        (
            ["export", "none.zip", "--out", "a.onnx", "--target", "godot"],
            "--out a.onnx: must end in .ambulo",
        ),
        (
            ["export", "none.zip", "--out", "a.ambulo", "--target", "godt"],
            "--target godt: unknown target (did you mean 'godot'",
        ),
        (
            ["levels", "generate", "--family", "maz", "--out", "a"],
            "did you mean 'maze'",
        ),
        (["levels", "validate", "none"], "no such level file or folder"),
        (["levels", "draw", "none", "--out", "x.png"], "no such level file or folder"),
        (["presets", "full"], "unknown preset 'full'"),
        (
            ["train", "vr", "--print-config", "--set", "environment.levels=maz"],
            "environment.levels: unknown level family or set 'maz' (did you mean 'maze'",
        ),
        (
            ["train", "walk", "--print-config", "--character", "humn23"],
            "environment.character: unknown character 'humn23'",
        ),
        (["schema", "--set", "observations.frame=hip"], "observations.frame"),
        (["train", "--preset", "none"], "unknown preset 'none'"),
        (["eval", "none.zip"], "none.zip: no such model file"),
    ],
)
def test_bad_input_of_commands(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refusal(cli.main, arguments, capsys)
    assert error.startswith("ambulo: error: ")
    assert message in error
    assert left_behind() == []


def test_a_training_that_diverges_is_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, error = run([*QUICK, *FEW_LEVELS, "--set", "ppo.learning_rate=1e29"], capsys)
    assert code == 2
    assert error.splitlines()[-1].startswith("ambulo: error: the update after ")
    assert "not finite; lower ppo.learning_rate" in error
    assert "Traceback" not in error
