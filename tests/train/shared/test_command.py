"""What the training commands share besides their flags."""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

import pytest

from ambulo.common.signals import Interrupted
from ambulo.train.shared.command import (
    evaluation_arguments,
    folder_to_continue,
    shareable_arguments,
    tell_interrupted,
)
from ambulo.train.vr.run_folder import NavigationRunFolder


def test_model_files_tell_the_command_without_places() -> None:
    command = [
        "--preset", "quick_test", "--godot-bin", "/opt/godot", "--godot-url=http://a:1",
        "--set", "environment.godot_project=/opt/game", "--set", "ppo.gamma=0.9",
        "--set=environment.godot_bin=/opt/godot", "--output=/home/me/runs",
        "--config", "/home/me/mine.json", "--seed", "3",
    ]  # fmt: skip
    assert shareable_arguments(command) == [
        "--preset", "quick_test", "--set", "ppo.gamma=0.9", "--output=runs",
        "--config", "mine.json", "--seed", "3",
    ]  # fmt: skip
    assert shareable_arguments(["--seed", "1", "--godot-bin"]) == ["--seed", "1"]


def run_in(tmp_path: Path) -> NavigationRunFolder:
    """A run whose writer was killed in the middle of a checkpoint."""
    folder = NavigationRunFolder.create(str(tmp_path), "run", "label", 0, force=False)
    folder.describe("{}", [], 0)
    (folder.checkpoints / ".a.zip.1.tmp").touch()
    return folder


def test_a_resumed_run_goes_on_in_its_swept_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, args = run_in(tmp_path), argparse.Namespace(run_name=None)
    assert folder_to_continue(args, folder, begun=True) is folder
    assert list(folder.checkpoints.iterdir()) == []
    assert capsys.readouterr().err == ""
    folder_to_continue(args, folder, begun=False)
    assert "no checkpoint yet" in capsys.readouterr().err


def test_a_resumed_run_of_another_name_leaves_its_folder(tmp_path: Path) -> None:
    folder, args = run_in(tmp_path), argparse.Namespace(run_name="other")
    assert folder_to_continue(args, folder, begun=True) is None
    assert len(list(folder.checkpoints.iterdir())) == 1
    assert (
        folder_to_continue(argparse.Namespace(run_name=None), None, begun=True) is None
    )


def test_an_interrupted_run_says_how_it_is_continued(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = tell_interrupted(Interrupted(signal.SIGTERM), NavigationRunFolder(tmp_path))
    assert code == 128 + 15
    told = capsys.readouterr().err
    assert told == (
        "ambulo: stopped by SIGTERM; saved. Continue with:\n"
        f"  train_vr_navigation --resume {tmp_path}\n"
    )


def test_given_flags_are_handed_to_the_evaluation(tmp_path: Path) -> None:
    args = argparse.Namespace(
        eval=str(tmp_path / "m.zip"), episodes=5, num_envs=None, verbose=True,
        trust_pickle=False, deterministic=False,
    )  # fmt: skip
    values, switches = ("episodes", "num_envs"), ("verbose", "trust_pickle")
    assert evaluation_arguments(args, values, switches) == [
        str(tmp_path / "m.zip"), "--episodes", "5", "--verbose", "--stochastic",
    ]  # fmt: skip
    args.deterministic, args.verbose, args.num_envs = True, False, 3
    assert evaluation_arguments(args, values, switches) == [
        str(tmp_path / "m.zip"), "--episodes", "5", "--num-envs", "3",
    ]  # fmt: skip
