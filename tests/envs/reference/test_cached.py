"""References cached on disk: made once, by one process."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import MotionFileError
from ambulo.envs.characters.registry import load_character
from ambulo.envs.reference import cached
from ambulo.envs.reference.cached import cache_folder, cache_key, cached_reference
from ambulo.envs.reference.reference import Reference
from ambulo.envs.reference.standing import standing_reference

MAKER = """
import sys, time
from pathlib import Path
from ambulo.envs.characters.registry import load_character
from ambulo.envs.reference.cached import cached_reference
from ambulo.envs.reference.standing import standing_reference

def make():
    with open(sys.argv[1], "a") as file:
        file.write("made\\n")
    time.sleep(float(sys.argv[2]))
    return standing_reference(load_character("human23"), balance=False)

cached_reference("key", None, make)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AMBULO_REFERENCE_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture(scope="module")
def standing() -> Reference:
    return standing_reference(load_character("human23"), balance=False)


def test_a_reference_is_made_once(
    folder: Path, tmp_path: Path, standing: Reference
) -> None:
    made = []

    def make() -> Reference:
        made.append(1)
        return standing

    clip = str(tmp_path / "walk.bvh")
    Path(clip).write_text("what stands here is not read", encoding="utf-8")
    first, second = (cached_reference("key", clip, make) for _ in range(2))
    assert len(made) == 1
    np.testing.assert_array_equal(first.table.qpos, second.table.qpos)
    (entry,) = folder.glob("*.npz")
    entry.write_bytes(b"not a reference")
    cached_reference("key", clip, make)
    cached_reference("another key", clip, make)
    assert len(made) == 3
    assert cache_folder() == folder


def test_warnings_about_a_clip_are_kept_with_its_reference(
    folder: Path, standing: Reference, caplog: pytest.LogCaptureFixture
) -> None:
    said = []
    for warns in (True, True, False):

        def make(warns: bool = warns) -> Reference:
            if warns:
                logging.getLogger("ambulo.motion").warning("clip: %d faults", 2)
            return standing

        for _ in range(2):
            caplog.clear()
            cached_reference(["key", warns], None, make, takes="a minute")
            said.append(
                [r.getMessage() for r in caplog.records if r.name != cached.log.name]
            )
    assert said == 4 * [["clip: 2 faults"]] + 2 * [[]]
    for file in folder.glob("*.warnings.json"):
        file.write_text("[1")
    cached_reference(["key", True], None, lambda: standing)  # read without them


@pytest.mark.integration
def test_processes_that_start_together_make_it_once(
    folder: Path, tmp_path: Path
) -> None:
    """The others wait; where the first is killed, another makes it."""
    count = tmp_path / "count"
    run = [sys.executable, "-c", MAKER, str(count)]
    first = subprocess.Popen([*run, "60"])
    while not count.exists():
        time.sleep(0.05)
    others = [
        subprocess.Popen([*run, "0"], stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert others[0].stderr is not None
    assert "another process" in others[0].stderr.readline()
    first.send_signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    for process in others:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert count.read_text() == "made\n" * 2
    assert len(list(folder.glob("*.npz"))) == 1


@pytest.mark.parametrize("place", ["file/kept", "~no-such-user/kept"])
def test_what_cannot_be_kept_is_told_before_and_used_all_the_same(
    place: str,
    tmp_path: Path,
    standing: Reference,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: list[str] = []

    def make() -> Reference:
        told.append(caplog.text)
        return standing

    (tmp_path / "file").write_text("no folder")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AMBULO_REFERENCE_CACHE", place)
    found = cached_reference("key", None, make, takes="a minute")
    np.testing.assert_array_equal(found.table.qpos, standing.table.qpos)
    assert "is not kept" in told[0]
    assert "AMBULO_REFERENCE_CACHE names another folder" in told[0]


def test_an_entry_changes_with_the_clip_its_skeleton_and_the_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip = tmp_path / "02_01.amc"
    with pytest.raises(MotionFileError, match="no such file"):
        cache_key("key", str(clip))
    keys = []
    for text in ("a", "b"):
        clip.write_text(text, encoding="utf-8")
        keys.append(cache_key("key", str(clip)))
    (tmp_path / "02.asf").write_text("c", encoding="utf-8")
    keys.append(cache_key("key", str(clip)))
    clip.with_suffix(".roles.json").write_text("d", encoding="utf-8")
    keys.append(cache_key("key", str(clip)))
    keys.append(cache_key("other", str(clip)))
    monkeypatch.setattr(cached, "RECIPE", cached.RECIPE + 1)
    assert len({*keys, cache_key("key", str(clip))}) == 6


OTHER_USER = """
import os, sys
from ambulo.envs.characters.registry import load_character
from ambulo.envs.reference import cached
from ambulo.envs.reference.standing import standing_reference

made = standing_reference(load_character("human23"), balance=False)
os.umask(0o077)
cached.cached_reference("key", None, lambda: made)
os.setgroups([])
os.setresgid(12345, 12345, 12345)
os.setresuid(12345, 12345, 12345)
for key in ("key", "another"):
    assert cached.cached_reference(key, None, lambda: made).name == made.name
os.environ["AMBULO_REFERENCE_CACHE"] = sys.argv[1]
assert cached.cached_reference("key", None, lambda: made).name == made.name
"""


@pytest.mark.integration
@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be others"
)
def test_a_folder_of_another_user_is_used_as_far_as_it_may_be() -> None:
    """Shared like /tmp with entries and locks that only their owner may open, or closed."""
    with tempfile.TemporaryDirectory() as name:  # others may not search tmp_path
        top = Path(name)
        top.chmod(0o755)
        shared, closed = top / "shared", top / "closed"
        shared.mkdir()
        shared.chmod(0o1777)
        closed.mkdir(mode=0o700)
        done = subprocess.run(
            [sys.executable, "-c", OTHER_USER, str(closed / "kept")],
            env={**os.environ, "AMBULO_REFERENCE_CACHE": str(shared)},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
