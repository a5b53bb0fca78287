"""What the training commands share besides their flags."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from ambulo.common.signals import Interrupted
from ambulo.configs.choices import ENGINE_PLACES
from ambulo.configs.vr import NavigationConfig
from ambulo.train.locomotion.track_command import TrackCommand
from ambulo.train.motion.command import MotionCommand
from ambulo.train.shared.command_text import shareable_arguments
from ambulo.train.shared.resume import ResumePoint
from ambulo.train.shared.run_command import report_interrupt
from ambulo.train.shared.run_folders import LocomotionRunFolder, NavigationRunFolder
from ambulo.train.vr.command import COMMAND


def test_model_files_tell_the_command_without_places() -> None:
    command = [
        "--preset", "quick_test", "--godot-bin", "/opt/godot", "--godot-url=http://a:1",
        "--set", "environment.godot_project=/opt/game", "--set", "ppo.gamma=0.9",
        "--set=environment.godot_bin=/opt/godot", "--output=/home/me/runs",
        "--config", "/home/me/mine.json", "--seed", "3",
    ]  # fmt: skip
    assert shareable_arguments(command, ENGINE_PLACES) == [
        "--preset", "quick_test", "--set", "ppo.gamma=0.9", "--output=runs",
        "--config", "mine.json", "--seed", "3",
    ]  # fmt: skip
    assert shareable_arguments(["--seed", "1", "--godot-bin"], ENGINE_PLACES) == [
        "--seed",
        "1",
    ]


def run_in(tmp_path: Path) -> NavigationRunFolder:
    """A run whose writer was killed in the middle of a checkpoint."""
    folder = NavigationRunFolder.create(str(tmp_path), "run", "label", 0, force=False)
    folder.describe(NavigationConfig().to_json(), [], 0)
    (folder.checkpoints / ".a.zip.1.tmp").touch()
    folder.release()
    return folder


def test_a_resumed_run_continues_in_its_swept_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, args = run_in(tmp_path), COMMAND.parse([])
    resumed = COMMAND.resumed_folder(args, COMMAND.find(str(folder.path), args))
    assert resumed is not None
    assert resumed.path == folder.path
    resumed.claim()
    assert list(folder.checkpoints.iterdir()) == []
    resumed.release()
    assert "no checkpoint yet" in capsys.readouterr().err


def test_a_resumed_run_of_another_name_leaves_its_folder(tmp_path: Path) -> None:
    folder, args = run_in(tmp_path), COMMAND.parse(["--run-name", "other"])
    point = COMMAND.find(str(folder.path), args)
    assert COMMAND.resumed_folder(args, point) is None
    assert len(list(folder.checkpoints.iterdir())) == 1
    alone = ResumePoint(None, point.model, point.config)
    assert COMMAND.resumed_folder(COMMAND.parse([]), alone) is None


def test_an_interrupted_run_says_how_it_is_continued_here(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bin_folder = tmp_path / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    for name in ("python", "ambulo"):
        (bin_folder / name).touch(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(bin_folder / "python"))
    code = report_interrupt(Interrupted(signal.SIGTERM), NavigationRunFolder(tmp_path))
    assert code == 128 + 15
    error = capsys.readouterr().err
    assert error == (
        "ambulo: stopped by SIGTERM; saved. Continue with:\n"
        f"  .venv/bin/ambulo train vr --resume {tmp_path}\n"
    )
    monkeypatch.setenv("PATH", str(bin_folder))
    command = NavigationRunFolder(tmp_path).resume_command
    assert command == f"ambulo train vr --resume {tmp_path}"


@pytest.mark.parametrize(
    ("typed", "resumed"),
    [
        (None, "ambulo train walk"),
        ("ambulo train track", "ambulo train track"),
        ("train_locomotion", "train_locomotion"),  # its script
    ],
)
def test_hints_repeat_the_command_as_it_was_typed(
    tmp_path: Path, typed: str | None, resumed: str
) -> None:
    folder = LocomotionRunFolder.create(str(tmp_path), "a", "label", 0, force=False)
    folder.typed = typed
    folder.describe("{}", ["--seed", "1"], 1)
    folder.release()
    again = LocomotionRunFolder(folder.path)  # of another process
    assert again.made_by == resumed
    assert again.training == "locomotion"
    assert again.resume_command.endswith(f"{resumed} --resume {folder.path}")


def test_the_script_of_a_training_is_named_by_its_hints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bin/train_motion", "--no-such-flag"])
    command = MotionCommand()
    with pytest.raises(SystemExit):
        command.main()
    assert command.program == "train_motion"
    assert MotionCommand().program == "ambulo train motion"
    assert TrackCommand().program == "ambulo train track"


def test_given_flags_are_handed_to_the_evaluation(tmp_path: Path) -> None:
    model = str(tmp_path / "m.zip")
    flags = ["--eval", model, "--episodes", "5"]
    args = COMMAND.parse([*flags, "--verbose", "--stochastic"])
    assert COMMAND.evaluation_arguments(args) == [
        model, "--episodes", "5", "--verbose", "--stochastic",
    ]  # fmt: skip
    assert COMMAND.evaluation_arguments(COMMAND.parse([*flags, "--num-envs", "3"])) == [
        model, "--episodes", "5", "--num-envs", "3",
    ]  # fmt: skip
