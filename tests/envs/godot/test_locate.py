"""Engine and project: what will do, and the one-time import, once for all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ambulo.configs.errors import BridgeError
from ambulo.envs.godot.engine import EngineProcess
from ambulo.envs.godot.locate import check_version, find_project, import_project

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


def test_an_add_on_older_than_the_import_is_imported(counted, tmp_path) -> None:
    script, game, notes = counted
    packed = tmp_path / "packed" / "thing.gd"
    packed.parent.mkdir()
    packed.write_text("class_name Thing\n")
    os.utime(packed, (1e9, 1e9))
    import_project(script, game)
    time.sleep(0.02)  # file systems count in ticks of 4 ms
    shutil.copy2(packed, game / "thing.gd")
    import_project(script, game)
    assert imports(notes) == 2
    import_project(script, game)
    assert imports(notes) == 2


def test_a_failed_import_tells_why(program, tmp_path) -> None:
    with pytest.raises(BridgeError, match=r"cannot be imported \(exit code \d+\): ."):
        import_project(program, tmp_path)
    with pytest.raises(BridgeError, match=r"no-project.*: No such file"):
        import_project(program, tmp_path / "no-project")


IMPORT = """
import sys, threading
from pathlib import Path
from ambulo.envs.godot.locate import import_project
work = lambda: import_project(Path(sys.argv[1]), Path(sys.argv[2]))
{start}
"""
BY_MAIN, BY_THREAD = "work()", "threading.Thread(target=work).start()"


@contextlib.contextmanager
def importing(tmp_path: Path, game: Path, start: str) -> Iterator[tuple[int, int]]:
    """A process that imports with an engine that never ends; the ids of both."""
    note, script = tmp_path / "pid", tmp_path / "slow"
    script.write_text(
        f"#!/bin/sh\necho $$ > {note}.tmp\nmv {note}.tmp {note}\nexec sleep 99\n"
    )
    script.chmod(0o755)
    code = IMPORT.format(start=start)
    process = subprocess.Popen([sys.executable, "-c", code, str(script), str(game)])
    engine = 0
    try:
        for _ in range(1200):
            if note.exists():
                break
            time.sleep(0.05)
        engine = int(note.read_text())
        yield process.pid, engine
    finally:
        process.kill()
        process.wait()
        with contextlib.suppress(ProcessLookupError):
            if engine:
                os.kill(engine, signal.SIGKILL)


def ends(pid: int, seconds: float = 20.0) -> bool:
    """Whether a process ends (or is a zombie of another parent) in time."""
    for _ in range(int(seconds / 0.05)):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def is_locked(game: Path) -> bool:
    with (game / ".godot" / "ambulo_import.lock").open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_killed_trainer_takes_its_import_along(counted, tmp_path) -> None:
    _, game, _ = counted
    with importing(tmp_path, game, BY_MAIN) as (trainer, engine):
        assert is_locked(game)
        os.kill(trainer, signal.SIGKILL)
        assert ends(engine)
        assert not is_locked(game)


def test_an_import_that_outlives_its_trainer_holds_the_lock(counted, tmp_path) -> None:
    """Started by a thread, the engine is not ended by the kernel."""
    _, game, _ = counted
    with importing(tmp_path, game, BY_THREAD) as (trainer, engine):
        os.kill(trainer, signal.SIGKILL)
        assert ends(trainer)
        assert not ends(engine, 0.3)
        assert is_locked(game)


@pytest.fixture
def read_only(tmp_path) -> Iterator[Path]:
    """An empty folder; `freeze` makes it read-only, for root too."""
    folder = tmp_path / "read_only"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("mounting needs root on Linux")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def freeze(folder: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)


def test_a_read_only_project_that_was_imported_will_do(program, read_only, tmp_path):
    game = read_only / "game"
    shutil.copytree(find_project(), game)
    (game / ".godot" / "ambulo_import.stamp").unlink()
    freeze(read_only)
    with EngineProcess(program, game, tmp_path / "log") as engine:
        assert engine.wait_until_ready() > 0


def test_a_read_only_project_without_import_tells_what_to_do(counted, read_only):
    script, game, notes = counted
    shutil.copytree(game, read_only / "game")
    freeze(read_only)
    with pytest.raises(BridgeError, match=r"writable folder.*AMBULO_GODOT_PROJECT"):
        import_project(script, read_only / "game")
    assert imports(notes) == 0


def says(folder: Path, text: str) -> Path:
    """A program that says `text`, and notes that it did."""
    script = folder / f"godot{len(list(folder.iterdir()))}"
    script.write_text(f"#!/bin/sh\necho said >> {script}.notes\necho '{text}'\n")
    script.chmod(0o755)
    return script


@pytest.mark.parametrize(
    "text",
    ["4.5.stable.official.876b29033", "4.6.3.rc1.custom_build", "5.0.beta2.mono"],
)
def test_versions_that_will_do_are_asked_for_once(tmp_path, text) -> None:
    script = says(tmp_path, text)
    check_version(script)
    check_version(script)
    assert Path(f"{script}.notes").read_text() == "said\n"


@pytest.mark.parametrize(
    "text", ["4.4.1.stable.official.49a5bc7b6", "3.6.stable", "sh (tools) 9.1", ""]
)
def test_other_programs_are_named(tmp_path, text) -> None:
    script = says(tmp_path, text)
    wanted = f"needs Godot 4.5 or newer, {script} says {text!r}"
    with pytest.raises(BridgeError, match=re.escape(wanted)):
        check_version(script)


def test_the_real_engine_will_do(program) -> None:
    check_version(program)


@pytest.fixture
def checkout(counted) -> Path:
    """The script beside a project that was never imported; its engine is fast."""
    script, game, _ = counted
    script.write_text(script.read_text().replace("sleep 0.3\n", ""))
    shutil.copy(find_project() / "run.sh", game / "run.sh")
    return game


def run_project(game: Path, program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(game / "run.sh"), "--play"],
        env={**os.environ, "GODOT_BIN": program},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "program", ["/gone/godot", "no-such-godot", "/tmp", "/dev/null"]
)
def test_run_takes_no_other_engine_than_the_named_one(checkout, program) -> None:
    done = run_project(checkout, program)
    assert done.returncode == 2
    assert done.stderr == f"run.sh: GODOT_BIN = '{program}': no such program\n"


@pytest.mark.parametrize(
    "change", ["thing.gd", "deep/a.tscn", "a.tres", "a.cfg", "project.godot", "a.svg"]
)
def test_run_imports_when_python_would(checkout, counted, change) -> None:
    script, game, notes = counted
    (game / "deep" / ".hidden").mkdir(parents=True)
    assert run_project(checkout, str(script)).returncode == 0
    assert notes.read_text().splitlines()[-1].endswith("--play")
    import_project(script, game)
    assert imports(notes) == 1
    stamp = game / ".godot" / "ambulo_import.stamp"
    later = stamp.stat().st_mtime + 5.0
    for name in ("notes.txt", "deep/.hidden/b.gd", ".godot/c.gd"):
        (game / name).touch()
        os.utime(game / name, (later, later))
    run_project(checkout, str(script))
    import_project(script, game)
    assert imports(notes) == 1
    (game / change).touch()
    os.utime(game / change, (later, later))
    run_project(checkout, str(script))
    assert imports(notes) == 2
    os.utime(stamp, (later, later))
    (game / ".godot" / "global_script_class_cache.cfg").unlink()
    run_project(checkout, str(script))
    assert imports(notes) == 3


def test_run_believes_no_import_without_class_names(checkout, tmp_path) -> None:
    script = tmp_path / "idle"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    done = run_project(checkout, str(script))
    assert done.returncode == 2
    assert "run.sh: the project cannot be imported" in done.stderr
    assert not (checkout / ".godot" / "ambulo_import.stamp").exists()
