"""Bad input of every training: exit code 2, one line on stderr, no run folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.exits import refusal
from fixtures.trainings import TRAININGS

from ambulo.train.godot.command import COMMAND as GODOT

COMMANDS = {name: training.load() for name, training in TRAININGS.items()}
Flags = Callable[[str], list[str]]


@pytest.fixture(scope="module")
def flags(tmp_path_factory: pytest.TempPathFactory) -> Flags:
    """Flags of a training at its smallest, with data; made once for each."""
    made: dict[str, list[str]] = {}

    def of(name: str) -> list[str]:
        if name not in made:
            training = TRAININGS[name]
            data = training.data(tmp_path_factory.mktemp(name))
            made[name] = [*data, *training.flags, *training.results]
        return made[name]

    return of


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AMBULO_MOTION_CACHE", str(tmp_path / "cache"))


def assert_refused(
    name: str, arguments: list[str], rule: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Check that a training begins with nothing but one line."""
    assert rule in refusal(COMMANDS[name].main, arguments, capsys, alone=False)
    assert not list(Path("runs").glob("*"))


@pytest.mark.parametrize("name", TRAININGS)
@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        (["--preset", "nosuch"], "unknown preset 'nosuch'"),
        (["--config", "none.json"], "none.json: no such file"),
        (["--set", "training.nothing=1"], "unknown key 'training.nothing'"),
        (["--seed", "-1"], "training.seed"),
        (["--device", "nothing"], "training.device = "),
        (["--run-name", "a b"], "run name"),
        (["--json", "none/scores.json"], "none: no such folder"),
    ],
)
def test_settings_of_any_training(
    name: str,
    wrong: list[str],
    rule: str,
    flags: Flags,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert_refused(name, [*flags(name), *wrong], rule, capsys)


@pytest.mark.parametrize("name", TRAININGS)
@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["--resume", "none"], "none: no such run folder or checkpoint"),
        (["--resume", "."], "not a run folder"),
        (["--resume", "x", "--preset", "y"], "the run's own settings: no "),
        (["--resume", "x", "--eval", "y"], "--eval and --resume exclude each other"),
        (["--eval", "none.zip"], "none.zip: no such model file"),
    ],
)
def test_runs_and_models_that_are_none(
    name: str, arguments: list[str], rule: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refused(name, arguments, rule, capsys)


@pytest.mark.parametrize(
    ("name", "wrong", "rule"),
    [
        ("walk", ["--reference", "nowhere.amc"], "nowhere.amc"),
        ("walk", ["--task", "fly"], "unknown task 'fly' (valid: "),
        ("walk", ["--frames", "20"], "environment.reference_frames"),
        ("walk", ["--frames", "20:300"], "reference_frames = 20:300 cuts a motion clip"),
        ("walk", ["--set", "network.policy=prior"], "network.prior"),
        ("walk", ["--workers", "2"], "--workers needs --engine ray"),
        ("walk", ["--address", "a:1"], "--address needs --engine ray"),
        ("walk", ["--schedule", "gradients"], "--schedule needs --engine ray"),
        ("motion", ["--mode", "other"], "--mode: unknown 'other'"),
        ("motion", ["--test_subjects", "99"], "no subject '99'"),
        ("motion", ["--activity_split", "--subject_split"], "exclude each other"),
        ("motion", ["--activity_split", "--test_subjects", "01"], "needs --subject_split"),
        ("motion", ["--set", "model.chunk=200"], "no training clip is as long"),
        ("motion", ["--bvh_dir", "/no/such/folder"], "/no/such/folder"),
        ("motion", ["--streaming", "--set", "training.speeds=[1,2]"], "own speed only"),
        ("ik", ["--network", "other"], "--network: unknown 'other'"),
        ("ik", ["--test-subjects", "99"], "no subject '99'"),
        ("ik", ["--set", "masks.all=-1"], "masks.all"),
        ("ik", ["--epochs", "0"], "training.epochs"),
        ("ik", ["--data", "/no/such/file.npz"], "/no/such/file.npz"),
        ("trackers", ["--data", "nowhere.npz"], "no such file of sequences"),
        ("gait", ["--data", "nowhere"], "nowhere: no such file or folder"),
        ("gait", ["--loss", "wrong"], "loss.kind"),
    ],
)  # fmt: skip
def test_settings_of_one_training(
    name: str,
    wrong: list[str],
    rule: str,
    flags: Flags,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert_refused(name, [*flags(name), *wrong], rule, capsys)


@pytest.mark.parametrize("name", [n for n in TRAININGS if COMMANDS[n].data])
def test_data_must_be_named(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert_refused(name, [], "missing --", capsys)


def test_a_game_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no game: name its folder with --project" in refusal(GODOT.main, [], capsys)
    here = ["--project", ".", "--no-progress"]
    demos = refusal(GODOT.main, [*here, "--demos", "none"], capsys)
    assert "--demos" in demos
    assert str(Path.cwd()) in refusal(GODOT.main, here, capsys)
    assert not list(Path("runs").glob("*"))
