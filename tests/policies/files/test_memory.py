"""Model files that ask for memory: refused before anything large is allocated."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.model_files import Members, change_header, members_of, tiny_model
from fixtures.untrained import untrained_navigator

import ambulo
from ambulo.configs.errors import ModelFileError
from ambulo.configs.vr import NavigationConfig
from ambulo.policies.agents.cascade import load_cascade
from ambulo.policies.files import model_file
from ambulo.policies.files.archive import FREE_SIZE, Archive, MemoryBudget, zipped
from ambulo.policies.files.headers import ARRAYS
from ambulo.policies.files.model_file import (
    POLICY,
    TrainingState,
    load_model,
    save_model,
)
from ambulo.policies.files.weights import stored_shapes
from ambulo.shipped import locate

GROWTH = 80
"""Most memory that a refusal may take, [MiB]."""
_LOAD = """
import resource, sys
import ambulo
from ambulo.configs.errors import ModelFileError
ambulo.load(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[2:]:
    try:
        ambulo.load(path)
    except ModelFileError as error:
        print(error)
    else:
        sys.exit(f"{path} was loaded")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def shipped(name: str) -> Path:
    """The file of a shipped model."""
    path = locate(name)
    assert path is not None
    return path


def torch_file(text: bytes) -> bytes:
    """A file of `torch.save` whose pickle is `text`."""
    return zipped({"archive/data.pkl": text, "archive/byteorder": b"little"})


def stock_file(text: bytes) -> bytes:
    """A file of Stable-Baselines3 whose policy is the pickle `text`."""
    return zipped({"data": b"{}", "policy.pth": torch_file(text)})


def deflated(members: Members) -> bytes:
    """A zip file that packs everything, as `zipped` does not."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def long_memo() -> bytes:
    """A pickle that puts a value far out in its memo."""
    return b"\x80\x02}r" + struct.pack("<I", 2**31) + b"."


def many_copies() -> bytes:
    """A pickle that copies one dictionary of 20,000 entries a thousand times."""
    entries = b"".join(b"J" + struct.pack("<i", i) + b"K\x00" for i in range(20_000))
    make = b"ccollections\nOrderedDict\nq\x01"
    copy = b"h\x01h\x00\x85R"
    return b"\x80\x02}q\x00(" + entries + b"u" + make + copy * 1000 + b"."


def hostile_files(folder: Path) -> list[Path]:
    """Files of a few kilobytes that ask for gigabytes."""
    model = folder / "model.zip"
    save_model(model, tiny_model())
    files: dict[str, bytes] = {
        "bytearray": stock_file(
            b"\x80\x02c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R."
        ),
        "bytearray8": stock_file(b"\x80\x05\x96" + struct.pack("<Q", 2**34) + b"."),
        "memo": stock_file(long_memo()),
        "copies": stock_file(many_copies()),
        "zeros": deflated({POLICY: bytes(2**28), "ambulo.json": b"{}"}),
    }

    def arch(*widths: int) -> Callable[[dict[str, Any]], object]:
        return lambda header: header["config"]["network"].update(net_arch=widths)

    for name, source, change in (
        ("wide", model, arch(10**9, 10**9)),
        ("deep", model, arch(*[1] * 300_000)),
        ("large", model, arch(*[4096] * 16)),
        ("walker", shipped("gait_walk"), arch(10**9, 10**9)),
        ("estimator", shipped("gait_estimator"), lambda h: h.update(modes=1000)),
    ):
        file = change_header(source, change, folder / f"{name}.zip")
        files[name] = zipped(members_of(file))
    noise = np.random.default_rng(0).bytes(FREE_SIZE)
    rows = {"a": {"dtype": "U8", "shape": [2**35], "data_offsets": [0, 2**35]}}
    text = json.dumps(rows).encode()
    state = struct.pack("<Q", len(text)) + text + noise
    files["training"] = zipped(members_of(model) | {ARRAYS: state})
    for name, data in files.items():
        (folder / f"{name}.zip").write_bytes(data)
    return [folder / f"{name}.zip" for name in files]


@pytest.mark.integration
def test_hostile_files_are_refused_in_little_memory(tmp_path: Path) -> None:
    paths = hostile_files(tmp_path)
    good = tmp_path / "model.zip"
    arguments = [sys.executable, "-c", _LOAD, str(good), *map(str, paths)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *errors, growth = done.stdout.splitlines()
    assert len(errors) == len(paths)
    assert all(str(path) in error for path, error in zip(paths, errors, strict=True))
    assert int(growth) < GROWTH


def test_nodes_of_a_cascade_share_one_budget(tmp_path: Path) -> None:
    path = shipped("gait_cascade")
    load_cascade(path)
    budget = MemoryBudget(4 * 2**20)
    with path.open("rb") as file:
        outer = Archive(file, "cascade", budget)
        nodes = [
            Archive(io.BytesIO(outer[name]), name, budget)
            for name in outer
            if name.endswith(".zip")
        ]
        with pytest.raises(ModelFileError, match="unpacks to more than"):
            [node[part] for node in nodes for part in node]


def test_a_pipe_is_no_model_file(tmp_path: Path) -> None:
    path = tmp_path / "pipe.zip"
    os.mkfifo(path)
    with pytest.raises(ModelFileError, match="not a regular file"):
        ambulo.load(path)
    with pytest.raises(ModelFileError, match="not a regular file"):
        ambulo.load(path.rename(tmp_path / "pipe.json"))


def test_memo_pickle_is_one_for_pickle() -> None:
    assert pickle.loads(b"\x80\x02}r\x05\x00\x00\x00.") == {}


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    """Also members of zeros, such as the moments of an optimiser at its start."""
    path = tmp_path / "zeros.zip"
    path.write_bytes(zipped({"a": bytes(2**23)}))
    with path.open("rb") as file:
        assert Archive(file, "zeros")["a"] == bytes(2**23)


@pytest.mark.parametrize("row", ["x", [1], 5, {"dtype": "F32", "shape": [-1]}, None])
def test_damaged_lists_of_tensors_are_refused(tmp_path: Path, row: object) -> None:
    text = json.dumps({"a": row}).encode()
    file = io.BytesIO(zipped({POLICY: struct.pack("<Q", len(text)) + text}))
    with pytest.raises(ModelFileError, match="weight 'a'"):
        stored_shapes(Archive(file, "damaged"), POLICY)


def test_a_list_of_members_over_a_mebibyte_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "names.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(40):
            archive.writestr(f"{number:02d}{'n' * 30_000}", b"")
    with (
        path.open("rb") as file,
        pytest.raises(ModelFileError, match="list of members"),
    ):
        Archive(file, "names")


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"training": TrainingState({"a": np.zeros(10**6)}, {})}, "training state"),
        ({"attachments": {"../up": b""}}, "unsafe member name"),
        ({"attachments": {f"{i}": b"" for i in range(1001)}}, "members, at most"),
    ],
)
def test_what_could_not_be_read_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], rule: str
) -> None:
    monkeypatch.setattr(model_file, "MAX_TRAINING", 2**20)
    monkeypatch.setattr(model_file, "MAX_STATES", 0)
    model = untrained_navigator(NavigationConfig())
    path = tmp_path / "model.zip"
    save_model(path, model)
    whole = path.read_bytes()
    with pytest.raises(ModelFileError, match=rule):
        save_model(path, replace(model, **changes))
    assert path.read_bytes() == whole
    assert [file.name for file in tmp_path.iterdir()] == ["model.zip"]


def test_a_large_training_state_is_written_and_read(tmp_path: Path) -> None:
    model = untrained_navigator(NavigationConfig())
    state = TrainingState({"a": np.zeros(800_000)}, {"step": 2**70})
    path = tmp_path / "model.zip"
    save_model(path, replace(model, training=state))
    again = load_model(path, type(model.metadata)).training
    assert again is not None
    assert again.arrays["a"].shape == (800_000,)
    assert again.values == {"step": 2**70}
