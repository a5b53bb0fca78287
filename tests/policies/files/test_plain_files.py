"""Every shipped model has a form of safetensors and JSON alone, and comes back from it."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import ModelFileError
from ambulo.policies.files.archive import read_archive, zipped
from ambulo.policies.files.plain_files import (
    MAX_NESTING,
    PLAIN_ENDINGS,
    packed_files,
    plain_files,
)
from ambulo.policies.registry import load_file, read_header
from ambulo.shipped import shipped_models


def contents(data: bytes, name: str) -> dict[str, object]:
    """What a file holds, whatever its packing."""
    if name.endswith(".npz"):
        with np.load(io.BytesIO(data)) as arrays:
            return {
                key: (arrays[key].dtype.str, arrays[key].shape, arrays[key].tobytes())
                for key in arrays.files
            }
    if not name.endswith(".zip"):
        return {name: data}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {key: contents(archive.read(key), key) for key in archive.namelist()}


@pytest.mark.integration
@pytest.mark.parametrize("name", sorted(shipped_models()))
def test_models_come_back_from_their_plain_form(name: str, tmp_path: Path) -> None:
    file = shipped_models()[name]
    plain = plain_files(file)
    assert all(path.endswith(PLAIN_ENDINGS) for path in plain)
    again = packed_files(plain, name)
    for other, data in again.items():
        original = file.with_name(other).read_bytes()
        assert contents(data, other) == contents(original, other)
        (tmp_path / other).write_bytes(data)
    assert read_header(tmp_path / file.name) == read_header(file)
    if again[file.name] != file.read_bytes():  # arrays in another order
        assert type(load_file(tmp_path / file.name)) is type(load_file(file))


def test_states_of_a_checkpoint_stay_behind(tmp_path: Path) -> None:
    members = read_archive(shipped_models()["gait_net"])
    file = tmp_path / "model.zip"
    more = {"training.json": b"{}", "training.safetensors": b"large"}
    file.write_bytes(zipped(members | more))
    assert list(plain_files(file)) == [f"model.zip/{name}" for name in members]


@pytest.mark.parametrize(
    "member", ["run.py", "data.pkl", "../x.json", "a b.json", "data"]
)
def test_nothing_else_is_shared(member: str, tmp_path: Path) -> None:
    file = tmp_path / "model.zip"
    file.write_bytes(zipped({"ambulo.json": b"{}", member: b"{}"}))
    with pytest.raises(ModelFileError, match=r"model\.zip"):
        plain_files(file)


def test_objects_in_arrays_are_not_unpickled(tmp_path: Path) -> None:
    file = tmp_path / "gait.npz"
    np.savez(file, a=np.array([{"runs": "code"}], dtype=object))
    with pytest.raises(ModelFileError, match="cannot be shared"):
        plain_files(file)


@pytest.mark.parametrize(
    "path",
    ["../x.json", "/x.json", "x.py", "a//b.json", "a/../b.json", "a\\b.json", ".x.json",
     "x.json/", "x\n.json", "a/" * 9 + "x.json"],
)  # fmt: skip
def test_paths_that_are_not_plain_are_refused(path: str) -> None:
    with pytest.raises(ModelFileError, match="expected a relative path"):
        packed_files({path: json.dumps({}).encode()}, "somewhere")


def test_archives_are_nested_only_so_deep() -> None:
    deep = "a.zip/" * (MAX_NESTING + 1) + "x.json"
    with pytest.raises(ModelFileError, match="archives in archives"):
        packed_files({deep: b"{}"}, "somewhere")
