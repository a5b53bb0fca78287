"""Model files as zip files: damage, hostile members, full disks, killed writers."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import pytest
from fixtures.model_files import members_of, tiny_model, write_zip

from ambulo.configs.errors import ModelFileError
from ambulo.policies.agents.navigation import load_navigation
from ambulo.policies.files.archive import MAX_BYTES
from ambulo.policies.files.model_file import save_model


def test_a_file_cut_off_anywhere_is_refused(saved: Path) -> None:
    data = saved.read_bytes()
    for tenth in range(10):
        saved.write_bytes(data[: len(data) * tenth // 10])
        with pytest.raises(ModelFileError, match=r"model\.zip: truncated, damaged or"):
            load_navigation(saved)


def test_flipped_bits_are_refused_or_harmless(saved: Path) -> None:
    data = bytearray(saved.read_bytes())
    for at in range(0, len(data), 97):
        data[at] ^= 0xFF
        saved.write_bytes(data)
        with contextlib.suppress(ModelFileError):
            load_navigation(saved)
        data[at] ^= 0xFF


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"none\.zip: no such model file"):
        load_navigation(tmp_path / "none.zip")
    with pytest.raises(ModelFileError):
        load_navigation(tmp_path)
    with pytest.raises(ModelFileError, match="cannot be written"):
        save_model(tmp_path / "no" / "model.zip", tiny_model())


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_devices_are_refused() -> None:
    with pytest.raises(ModelFileError, match="not a regular file"):
        load_navigation("/dev/zero")


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "C:x", "\\x"])
def test_unsafe_member_names_are_refused(saved: Path, name: str) -> None:
    write_zip(saved, {**members_of(saved), name: b""})
    with pytest.raises(ModelFileError, match="unsafe member name"):
        load_navigation(saved)


def test_repeated_members_are_refused(saved: Path) -> None:
    with warnings.catch_warnings(), zipfile.ZipFile(saved, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("policy.safetensors", b"")
    with pytest.raises(ModelFileError, match="occurs twice"):
        load_navigation(saved)


def declare_size(path: Path, size: int) -> None:
    """Change the unpacked size that the zip's directory tells of its first member."""
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\1\2") + 24
    data[at : at + 4] = size.to_bytes(4, "little")
    path.write_bytes(data)


def test_zip_bombs_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    block = bytes(2**24)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ambulo.json", block)
    declare_size(path, MAX_BYTES + 1)
    with pytest.raises(ModelFileError, match="unpacks to"):
        load_navigation(path)
    declare_size(path, 10)
    with pytest.raises(ModelFileError, match="damaged"):
        load_navigation(path)
    write_zip(path, {f"m{i}": b"" for i in range(1001)})
    with pytest.raises(ModelFileError, match="1001 members"):
        load_navigation(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a", b"a")
    with pytest.raises(ModelFileError, match="compression not allowed"):
        load_navigation(path)


def test_a_full_disk_leaves_the_old_file(tmp_full_disk: Path) -> None:
    path = tmp_full_disk / "model.zip"
    save_model(path, tiny_model())
    before = path.read_bytes()
    with pytest.raises(
        ModelFileError, match=r"model\.zip: cannot be written: No space"
    ):
        save_model(path, tiny_model(width=300))
    assert path.read_bytes() == before
    assert os.listdir(tmp_full_disk) == ["model.zip"]
    assert load_navigation(path).metadata.num_timesteps == 7


def test_a_read_only_folder_leaves_the_old_file(tmp_full_disk: Path) -> None:
    path = tmp_full_disk / "model.zip"
    save_model(path, tiny_model())
    before = path.read_bytes()
    remount = ["mount", "-o", "remount,ro", str(tmp_full_disk)]
    if subprocess.run(remount, check=False, capture_output=True).returncode:
        pytest.skip("cannot remount")
    with pytest.raises(ModelFileError, match="cannot be written: Read-only"):
        save_model(path, tiny_model())
    assert path.read_bytes() == before


_KILLER = """
import dataclasses, os, random, signal, sys, time
import numpy as np
from ambulo.policies.agents.navigation import load_navigation
from ambulo.policies.files.model_file import save_model
from ambulo.policies.files.model_file import TrainingState
path = sys.argv[1]
model = load_navigation(path)
noise = np.random.default_rng(0).integers(0, 256, 2_000_000).astype(np.uint8)
model = dataclasses.replace(model, training=TrainingState({"noise": noise}, {}))
for run in range(8):
    child = os.fork()
    if child == 0:
        while True:
            save_model(path, model)
    time.sleep(0.02 + 0.2 * random.random())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    load_navigation(path)
print("whole after every kill")
"""


@pytest.mark.integration
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_killed_writer_leaves_a_whole_file(saved: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _KILLER, str(saved)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout == "whole after every kill\n", done.stderr
