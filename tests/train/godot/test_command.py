"""The command line of trainings in a game: what it refuses before an engine starts."""

from __future__ import annotations

import json

from ambulo.configs.godot import GodotConfig
from ambulo.train.godot.command import COMMAND


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
