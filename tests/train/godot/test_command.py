"""The command line of trainings in a game: what it refuses before an engine starts."""

from __future__ import annotations

import json

import pytest

from ambulo.configs.godot import GodotConfig
from ambulo.train.godot.command import COMMAND


def test_a_game_must_be_named(tmp_path, capsys):
    assert COMMAND.main(["--output", str(tmp_path)]) == 2
    assert "no game: name its folder with --project" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_missing_recordings_are_named(tmp_path, capsys):
    flags = ["--project", str(tmp_path), "--demos", str(tmp_path / "none")]
    assert COMMAND.main([*flags, "--output", str(tmp_path / "runs")]) == 2
    assert "--demos" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_folder_without_a_game_is_refused(tmp_path, capsys):
    flags = ["--project", str(tmp_path), "--output", str(tmp_path / "runs")]
    assert COMMAND.main(flags) == 2  # and nothing is announced before
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert str(tmp_path) in said[0]


def test_flags_change_settings(tmp_path, capsys):
    flags = ["--project", str(tmp_path), "--scene", "res://a.tscn", "--engines", "2"]
    more = ["--action-repeat", "4", "--demos", "plays", "--preset", "quick"]
    assert COMMAND.main([*flags, *more, "--print-config"]) == 0
    config = json.loads(capsys.readouterr().out)
    assert config["environment"]["godot_project"] == str(tmp_path)
    assert config["environment"]["godot_engines"] == 2
    assert config["environment"]["action_repeat"] == 4
    assert config["training"]["total_timesteps"] == 100_000
    assert config["training"]["demonstrations"]["folder"].endswith("plays")
    shared = GodotConfig.model_validate(config).shareable()
    assert shared.environment.godot_project is None
    assert shared.training.demonstrations.folder == "plays"


@pytest.mark.parametrize("preset", ["quick", "memory", "pictures"])
def test_presets_are_settings(preset):
    assert COMMAND.presets.load(preset).ppo.n_steps >= 128
