"""`train_locomotion`: presets, flags, settings, and bad input."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from fixtures.locomotion_runs import ROLLOUT, run

from ambulo.configs.base import load_json
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.configs.presets import LOCOMOTION_PRESETS
from ambulo.train.locomotion.bodies import references_for
from ambulo.train.locomotion.command import COMMAND
from ambulo.train.shared.run_folders import LocomotionRunFolder
from ambulo.train.train_locomotion import main as train


def test_every_preset_is_valid_and_told() -> None:
    for name, words in LOCOMOTION_PRESETS.items():
        assert words
        assert isinstance(LOCOMOTION_PRESETS.load(name), LocomotionConfig)
    with pytest.raises(ConfigError, match="did you mean 'imitate_walk'"):
        LOCOMOTION_PRESETS.load("imitate_wolk")


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--preset", "walk"], "unknown preset 'walk'"),
        (["--reference", "nowhere.amc"], "nowhere.amc"),
        (["--task", "fly"], "unknown task 'fly' (valid: "),
        (["--frames", "20"], "environment.reference_frames"),
        (["--frames", "20:300"], "reference_frames = 20:300 cuts a motion clip"),
        (["--set", "network.policy=prior"], "network.prior"),
        (["--resume", "nowhere"], "no such run folder"),
        (["--set", "training.seed=-1"], "training.seed"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert train(["--no-progress", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


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


@pytest.mark.integration
def test_changed_settings_are_refused_on_resume(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run(tiny, "first", "--timesteps", str(ROLLOUT))
    assert train(["--resume", str(folder.path), "--set", "ppo.gamma=0.5"]) == 2
    assert "ppo.gamma cannot change" in capsys.readouterr().err
    assert load_json(LocomotionConfig, folder.config).ppo.gamma == 0.97


def test_a_run_without_a_whole_checkpoint_does_not_begin_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = LocomotionRunFolder.create(str(tmp_path), "cut", "label", 0, force=False)
    folder.describe(LocomotionConfig().to_json(), [], 0)
    folder.checkpoint(48).write_bytes(b"PK half of a checkpoint")
    assert train(["--resume", str(folder.path)]) == 2
    error = capsys.readouterr().err
    assert f"{folder.checkpoint(48)}: truncated" in error
    assert "no checkpoint of this run is whole" in error
    assert error.count("\n") == 1


def test_preparing_a_reference_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = SimpleNamespace(report={})

    def slow(env: LocomotionEnvironmentConfig, body: object) -> SimpleNamespace:
        assert "preparing the suite's own walk (imitate) for human23" in (
            capsys.readouterr().err
        )
        return made

    monkeypatch.setattr("ambulo.train.locomotion.bodies.reference_of", slow)
    assert references_for(LocomotionConfig()) == (made,)
    assert capsys.readouterr().err == "prepared in 0 s\n"
