"""Run folders: names, replacing, and cleaning up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ambulo.common.files import write_atomic
from ambulo.common.find_model import find_model
from ambulo.common.run_folder import RunFolder
from ambulo.configs.errors import ModelFileError, RunFolderError
from ambulo.policies.files.archive import zipped
from ambulo.train.shared.run_folders import NavigationRunFolder


def create(
    output: Path, name: str | None, *, force: bool = False
) -> NavigationRunFolder:
    return NavigationRunFolder.create(str(output), name, "quick_test", 3, force=force)


def test_automatic_names_never_collide(tmp_path: Path) -> None:
    one, two, three = (create(tmp_path / "runs", None) for _ in range(3))
    assert len({one.path, two.path, three.path}) == 3
    assert all(run.path.name.startswith("quick_test_3_") for run in (one, two, three))


def test_discard_removes_only_what_was_made(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    create(tmp_path / "runs" / "deep" / "er", "a").discard()
    assert list(tmp_path.rglob("*")) == [tmp_path / "runs"]
    kept = create(tmp_path / "runs", "kept")
    create(tmp_path / "runs", "other").discard()
    kept.release()
    assert list((tmp_path / "runs").iterdir()) == [kept.path]


def test_force_replaces_a_run_and_nothing_else(tmp_path: Path) -> None:
    run = create(tmp_path, "a")
    run.describe("{}\n", ["--seed", "3"], 3)
    (run.checkpoints / "vr_nav_model_5_steps.zip").write_bytes(b"")
    run.release()
    with pytest.raises(RunFolderError, match="--force"):
        create(tmp_path, "a")
    again = create(tmp_path, "a", force=True)
    assert not again.exists
    assert list(again.checkpoints.iterdir()) == []
    (tmp_path / "b").write_text("a file", encoding="utf-8")
    with pytest.raises(RunFolderError, match="is a file"):
        create(tmp_path, "b", force=True)


def test_a_replaced_run_is_back_when_the_new_one_cannot_start(tmp_path: Path) -> None:
    run = create(tmp_path, "a")
    run.describe("{}\n", [], 3)
    run.final_model.write_bytes(b"weeks of training")
    run.release()
    create(tmp_path, "a", force=True).discard()
    assert run.final_model.read_bytes() == b"weeks of training"
    assert list(tmp_path.iterdir()) == [run.path]
    again = create(tmp_path, "a", force=True)
    again.keep()
    again.release()
    assert not run.final_model.exists()
    assert list(tmp_path.iterdir()) == [run.path]


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", "a b", ".hidden"])
def test_names_are_plain(tmp_path: Path, name: str) -> None:
    with pytest.raises(RunFolderError, match="run name"):
        create(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_a_model_knows_its_run(tmp_path: Path) -> None:
    run = create(tmp_path, "a")
    run.describe("{}\n", [], 3)
    for file in (run.checkpoint(10), run.best_model, run.final_model):
        found = RunFolder.around(file)
        assert found is not None
        assert found.path == run.path.resolve()
    assert RunFolder.around(tmp_path / "elsewhere.zip") is None


def test_the_command_of_each_resume_is_added(tmp_path: Path) -> None:
    run = create(tmp_path, "a")
    run.describe("{}\n", ["--run-name", "a b"], 3)
    run.describe("{}\n", ["--resume", "a"], 3)
    assert run.command.read_text(encoding="utf-8").splitlines() == [
        "ambulo train vr --run-name 'a b'",
        "ambulo train vr --resume a",
    ]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    folder = tmp_path / "target"
    folder.mkdir()
    (folder / "inside").touch()
    with pytest.raises(RunFolderError, match="cannot be written"):
        write_atomic(folder, "text")
    assert list(tmp_path.iterdir()) == [folder]


def test_a_run_that_cannot_start_leaves_nothing_and_gives_back_what_it_replaced(
    tmp_path: Path,
) -> None:
    first = NavigationRunFolder.create(str(tmp_path), "run", "label", 0, force=False)
    with first.starting("{}", ["--seed", "1"], 1):
        assert first.exists, "killed from here on, it can be resumed"
    assert first.command.read_text() == "ambulo train vr --seed 1\n"
    first.release()
    second = NavigationRunFolder.create(str(tmp_path), "run", "label", 0, force=True)
    with pytest.raises(ValueError, match="no"), second.starting("[]", [], 2):
        raise ValueError("no")
    assert first.config.read_text() == "{}"
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_a_run_that_goes_on_is_described_when_it_stands(tmp_path: Path) -> None:
    folder = NavigationRunFolder.create(str(tmp_path), "run", "label", 0, force=False)
    folder.describe("{}", [], 0)
    again = NavigationRunFolder(folder.path)
    with again.starting("[1]", ["--resume"], 0):
        assert again.config.read_text() == "{}"
    assert again.config.read_text() == "[1]"
    assert again.command.read_text().splitlines()[1:] == ["ambulo train vr --resume"]


def test_the_newest_checkpoint_of_a_run_of_any_kind_is_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = RunFolder.create(str(tmp_path), "walk", "label", 0, force=False)
    for steps in (9, 50):
        file = run.checkpoints / f"locomotion_{steps}_steps.zip"
        file.write_bytes(zipped({"ambulo.json": b"{}"}))
    (run.checkpoints / "locomotion_100_steps.zip").write_bytes(b"damaged")
    (run.checkpoints / "other.zip").write_bytes(zipped({}))
    wanted = run.checkpoints / "locomotion_50_steps.zip"
    assert RunFolder(run.path).newest_checkpoint() == wanted
    assert find_model(run.path) == wanted
    assert "locomotion_100_steps.zip: truncated" in caplog.text
    for file in run.checkpoints.glob("*_steps.zip"):
        file.write_bytes(b"damaged")
    with pytest.raises(ModelFileError, match=r"_100_steps.*no checkpoint .* is whole"):
        RunFolder(run.path).newest_checkpoint()
    assert NavigationRunFolder(run.path).newest_checkpoint() is None


_REPLACE = """
import sys
from ambulo.configs.errors import RunFolderError
from ambulo.train.shared.run_folders import NavigationRunFolder
made = 0
for number in range(40):
    try:
        run = NavigationRunFolder.create(sys.argv[1], "run", "label", 0, force=True)
    except RunFolderError as error:
        assert "running in this folder" in str(error) or "exists" in str(error), error
        continue
    with run.starting("{}", [sys.argv[2]], number):
        run.final_model.write_text(sys.argv[2])
    assert run.command.read_text().split()[3:] == [sys.argv[2]], "two at a time"
    assert run.final_model.read_text() == sys.argv[2], "two at a time"
    run.release()
    made += 1
print(made)
"""


@pytest.mark.integration
def test_processes_that_replace_a_run_never_share_it(tmp_path: Path) -> None:
    """The lock is held from before the old run is moved until the new one is left."""
    (tmp_path / "run").mkdir()
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", _REPLACE, str(tmp_path), f"racer{i}"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(3)
    ]
    made = [int(racer.communicate(timeout=100)[0]) for racer in racers]
    assert all(racer.returncode == 0 for racer in racers)
    assert sum(made) > 0
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_the_lock_of_a_folder_is_one_by_any_name(tmp_path: Path) -> None:
    run = create(tmp_path / "runs", "a")
    (tmp_path / "link").symlink_to(run.path)
    with pytest.raises(RunFolderError, match="running in this folder"):
        RunFolder(tmp_path / "link").claim()
    run.release()
    other = RunFolder(tmp_path / "link")
    other.claim()
    assert (tmp_path / "runs" / ".a.lock").exists()
    assert not list(run.path.glob(".*"))
    other.release()


def test_trainings_that_start_together_share_the_folder_of_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another training makes `runs` after this one saw that it is missing."""
    mkdir = Path.mkdir

    def late(folder: Path, *args: Any, **kwargs: Any) -> None:
        monkeypatch.setattr(Path, "mkdir", mkdir)
        create(tmp_path / "runs", "first")
        mkdir(folder, *args, **kwargs)

    monkeypatch.setattr(Path, "mkdir", late)
    assert create(tmp_path / "runs", "second").path.is_dir()
    assert (tmp_path / "runs" / "first").is_dir()
