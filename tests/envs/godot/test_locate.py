"""The one-time import of the project: once for all, again after a change."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from ambulo.configs.errors import BridgeError
from ambulo.envs.godot.locate import import_project

IMPORTER = """#!/bin/sh
echo "$@" >> {notes}
sleep 0.3
mkdir -p {game}/.godot
touch {game}/.godot/global_script_class_cache.cfg
"""


@pytest.fixture
def counted(tmp_path):
    """A stand-in for the engine that notes each import, and a project."""
    notes, script, game = tmp_path / "notes", tmp_path / "godot", tmp_path / "game"
    script.write_text(IMPORTER.format(notes=notes, game=game))
    script.chmod(0o755)
    notes.touch()
    game.mkdir()
    (game / "project.godot").write_text("config_version=5\n")
    (game / "thing.gd").write_text("class_name Thing\nextends RefCounted\n")
    return script, game, notes


def imports(notes: Path) -> int:
    return notes.read_text().count("--import")


def test_who_starts_first_imports_once_for_all(counted) -> None:
    script, game, notes = counted
    threads = [
        threading.Thread(target=import_project, args=(script, game)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert imports(notes) == 1
    import_project(script, game)
    assert imports(notes) == 1


@pytest.mark.parametrize("change", ["edited", "class cache lost", "all lost"])
def test_a_changed_project_is_imported_again(counted, change) -> None:
    script, game, notes = counted
    import_project(script, game)
    cache = game / ".godot" / "global_script_class_cache.cfg"
    stamp = game / ".godot" / "ambulo_import.stamp"
    if change == "edited":
        os.utime(stamp, (1.0, 1.0))
    elif change == "class cache lost":
        cache.unlink()
    else:
        stamp.unlink()
    import_project(script, game)
    assert imports(notes) == 2


def test_a_failed_import_tells_why(program, tmp_path) -> None:
    with pytest.raises(BridgeError, match=r"cannot be imported \(exit code \d+\): ."):
        import_project(program, tmp_path)
    with pytest.raises(BridgeError, match=r"no-project.*: No such file"):
        import_project(program, tmp_path / "no-project")
