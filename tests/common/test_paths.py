"""Where `user://` points on each system."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambulo.common.files import check_parent
from ambulo.common.paths import godot_user_folder, resolve_path
from ambulo.configs.errors import RunFolderError


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for name in ("AMBULO_GODOT_PROJECT", "APPDATA", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("platform", "parts"),
    [
        ("linux", ".local/share/godot"),
        ("darwin", "Library/Application Support/Godot"),
        ("win32", "AppData/Roaming/Godot"),
    ],
)
def test_each_system_has_its_folder(platform: str, parts: str, tmp_path: Path) -> None:
    expected = tmp_path / parts / "app_userdata" / "Ambulo"
    assert godot_user_folder(platform) == expected


def test_variables_of_the_systems_are_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AMBULO_GODOT_PROJECT", "Other")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "roaming"))
    data = tmp_path / "data" / "godot" / "app_userdata" / "Other"
    roaming = tmp_path / "roaming" / "Godot" / "app_userdata" / "Other"
    assert godot_user_folder("linux") == data
    assert godot_user_folder("win32") == roaming


def test_paths_of_users_are_resolved(tmp_path: Path) -> None:
    folder = godot_user_folder()
    assert (
        resolve_path("user://ml_training/best.zip") == folder / "ml_training/best.zip"
    )
    assert resolve_path("~/runs") == tmp_path / "runs"
    with pytest.raises(RunFolderError, match="home directory"):
        resolve_path("~nobody-here/runs")
    assert resolve_path("runs/a") == Path("runs/a")
    assert resolve_path(tmp_path) == tmp_path


def test_only_the_folder_of_godot_is_made(tmp_path: Path) -> None:
    check_parent("-")
    check_parent("user://deep/scores.json")
    assert (godot_user_folder() / "deep").is_dir()
    with pytest.raises(RunFolderError, match="no such folder"):
        check_parent(str(tmp_path / "none" / "scores.json"))
    with pytest.raises(RunFolderError, match="is a folder"):
        check_parent(str(tmp_path))
    with pytest.raises(RunFolderError, match=r"/proc/x\.json: cannot be written"):
        check_parent("/proc/x.json")
    check_parent(str(tmp_path / "scores.json"))
    check_parent("/dev/null")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == []
