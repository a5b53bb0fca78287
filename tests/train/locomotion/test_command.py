"""`train_locomotion`: presets, flags, settings, and bad input."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambulo.configs.errors import ConfigError
from ambulo.train.locomotion.command import COMMAND
from ambulo.train.train_locomotion import main as train


def test_flags_become_settings() -> None:
    args = COMMAND.parse(
        [
            "--preset",
            "imitate_walk",
            "--teacher",
            "law",
            "--threads",
            "2",
            "--seed",
            "7",
        ]
    )
    config = COMMAND.settings(args)
    assert config.training.teacher is not None
    assert not config.environment.balance_law
    assert (config.training.num_threads, config.training.seed) == (2, 7)
    args = COMMAND.parse(["--preset", "imitate_walk_network", "--teacher", "none"])
    assert COMMAND.settings(args).training.teacher is None
    args = COMMAND.parse(["--teacher", "lawn"])
    with pytest.raises(ConfigError, match="did you mean 'law'"):
        COMMAND.settings(args)


def test_settings_that_need_each_other_come_in_any_order() -> None:
    nn, legs = "environment.resolver=nn", ["--character", "myolegs"]
    args = COMMAND.parse(["--set", nn, *legs, "--actuation", "muscle"])
    config = COMMAND.settings(args).environment
    assert (config.resolver, config.actuation, config.substeps) == ("nn", "muscle", 8)
    args = COMMAND.parse(["--set", nn, *legs])
    with pytest.raises(ConfigError, match="resolver = nn needs actuation = muscle"):
        COMMAND.settings(args)
    args = COMMAND.parse(["--set", "environment.action_scale=0", "--seed", "3"])
    with pytest.raises(ConfigError, match=r"^--set: environment\.action_scale = 0"):
        COMMAND.settings(args)


def test_a_clip_that_stands_in_its_best_cycle_is_refused_with_the_numbers(
    cmu: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AMBULO_REFERENCE_CACHE", str(tmp_path / "kept"))
    clip = str(cmu / "asfamc" / "05" / "05_11.amc")
    assert (
        train(["--preset", "imitate_walk", "--no-progress", "--reference", clip]) == 2
    )
    (error,) = [
        line
        for line in capsys.readouterr().err.splitlines()
        if line.startswith("ambulo: error")
    ]
    assert "05_11: root and joints move at 0.5" in error
    assert "m/s in the cycle that closes best (frames 4" in error
    assert "`ambulo fit`" in error
    assert "--standing-reference" in error
    assert {path.name for path in tmp_path.iterdir()} <= {"kept"}
    args = COMMAND.parse(["--reference", clip, "--standing-reference"])
    assert COMMAND.settings(args).environment.standing_reference
    args = COMMAND.parse(["--reference", clip, "--frames", "20:300"])
    assert COMMAND.settings(args).environment.reference_frames == "20:300"
