"""`ambulo eval --set`: settings of actions and environment in place of the training's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ambulo import cli

SHORT = ("eval", "none", "--baselines", "straight", "--episodes", "3", "--world", "compiled",
         "--level-set", "open", "--no-report", "--json")  # fmt: skip


def _scores(path: Path, *flags: str) -> dict[str, float]:
    assert cli.main([*SHORT, str(path), *flags]) == 0
    rows = json.loads(path.read_text())["rows"]
    names = ("success", "spl", "comfort_index")
    return {name: float(np.mean([row[name] for row in rows])) for name in names}


def test_settings_are_played(tmp_path: Path) -> None:
    plain = _scores(tmp_path / "a.json")
    whole = ("--set", "actions.vignette=1")
    narrow = _scores(tmp_path / "b.json", *whole)
    assert narrow["comfort_index"] > plain["comfort_index"]
    assert narrow["spl"] == plain["spl"]
    both = ("--set", "actions.snap_turn=30", "--set", "environment.max_episode_steps=2")
    assert _scores(tmp_path / "c.json", *both)["success"] == 0.0
