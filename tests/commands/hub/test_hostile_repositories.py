"""What a stranger may have put into a repository never reaches the folder of models."""

from __future__ import annotations

import io
import json
import os
import signal
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixtures.hub_server import USER, HubServer

import ambulo.shipped
from ambulo import cli
from ambulo.commands.hub import client as clients
from ambulo.commands.hub import manifest as manifests
from ambulo.commands.hub import pull as pulling
from ambulo.commands.hub.client import Hub
from ambulo.commands.hub.errors import HubError
from ambulo.commands.hub.flags import PullFlags, PushFlags
from ambulo.commands.hub.manifest import sha256_of
from ambulo.commands.hub.push import push
from ambulo.commands.hub.share import SharedModel, share
from ambulo.configs.atomic import replace_folder
from ambulo.configs.errors import AmbuloError

REPOSITORY = f"{USER}/gaits"
HEADER = "g/g.zip/ambulo.json"
WEIGHTS = "g/g.zip/policy.safetensors"
Change = Callable[[dict[str, bytes], dict[str, Any]], None]


@pytest.fixture(scope="module")
def shared() -> SharedModel:
    return share(PushFlags(model="gait_net", name="g", no_onnx=True))


@pytest.fixture
def pushed(hub: Hub, hub_server: HubServer, shared: SharedModel) -> Hub:
    push(hub, shared, REPOSITORY)
    return hub


def tampered(hub_server: HubServer, change: Change) -> None:
    """Commit changed files, with a manifest that the stranger has changed, too."""
    head = hub_server.repositories[REPOSITORY].head
    files = dict(head)
    listed = json.loads(files["g/manifest.json"])
    change(files, listed)
    files.setdefault("g/manifest.json", b"")
    if files["g/manifest.json"] == head["g/manifest.json"]:
        files["g/manifest.json"] = json.dumps(listed).encode()
    gone = dict.fromkeys(head.keys() - files.keys())
    hub_server.change(REPOSITORY, files | gone)


def add(
    files: dict[str, bytes], listed: dict[str, Any], path: str, data: bytes
) -> None:
    """Add a file, or replace one, with the checksum that belongs to it."""
    files[f"g/{path}"] = data
    rows = [row for row in listed["files"] if row["path"] != path]
    rows.append({"path": path, "size": len(data), "sha256": sha256_of(data)})
    listed["files"] = rows


def without_header(files: dict[str, bytes], listed: dict[str, Any]) -> None:
    """Leave what a zip of Stable-Baselines3 could be."""
    del files[HEADER]
    listed["files"] = []
    add(files, listed, "g.zip/policy.safetensors", files[WEIGHTS])
    add(files, listed, "g.zip/data.json", b"{}")


def other_header(files: dict[str, bytes], **changes: object) -> bytes:
    return json.dumps(json.loads(files[HEADER]) | changes).encode()


CHANGES: dict[str, tuple[Change, str]] = {
    "pickle": (lambda f, m: add(f, m, "g.pkl", b"x"), "expected a file of .json"),
    "python": (lambda f, m: add(f, m, "g.zip/run.py", b"x"), "expected a file of"),
    "zip": (lambda f, m: add(f, m, "g.zip", b"PK"), "expected a file of"),
    "climbs": (
        lambda f, m: m["files"].append(m["files"][0] | {"path": "../../x.json"}),
        "expected a relative path",
    ),
    "absolute": (
        lambda f, m: m["files"].append(m["files"][0] | {"path": "/tmp/x.json"}),
        "expected a relative path",
    ),
    "drive": (
        lambda f, m: m["files"].append(m["files"][0] | {"path": "C:\\x.json"}),
        "expected a relative path",
    ),
    "hidden": (
        lambda f, m: m["files"].append(m["files"][0] | {"path": ".x.json"}),
        "expected a relative path",
    ),
    "folder": (lambda f, m: add(f, m, "more/x.json", b"{}"), "a folder in a model"),
    "folder in onnx": (lambda f, m: add(f, m, "a/x.onnx", b"x"), "a folder in a model"),
    "twice": (
        lambda f, m: add(f, m, "G.zip/ambulo.json", b"{}"),
        "a file occurs twice",
    ),
    "other case of main": (
        lambda f, m: add(f, m, "h.zip/ambulo.json", b"{}"),
        "is not the main file",
    ),
    "not listed": (
        lambda f, m: f.update({"g/run.py": b"import os"}),
        "run.py: not listed in manifest.json: refused",
    ),
    "missing": (lambda f, m: f.pop(WEIGHTS) and None, "is missing"),
    "size": (lambda f, m: m["files"][0].update(size=3), "manifest.json says 3"),
    "checksum": (
        lambda f, m: m["files"][0].update(sha256="0" * 64),
        "the checksum is not that of manifest.json",
    ),
    "huge": (lambda f, m: m["files"][0].update(size=2**40), "less than or equal"),
    "newer": (lambda f, m: m.update(version=9), "version 9 is newer"),
    "unknown key": (lambda f, m: m.update(run="me"), "unknown key 'run'"),
    "other name": (lambda f, m: m.update(name="h"), "is of 'h', not of 'g'"),
    "no files": (lambda f, m: m.update(files=[]), "at least 1 item"),
    "main": (lambda f, m: m.update(main="../g.zip"), "the main file is missing"),
    "kind": (lambda f, m: m.update(kind="locomotion"), "is a gait_net"),
    "contract": (lambda f, m: m.update(contract="0" * 64), "its contract"),
    "not JSON": (lambda f, m: f.update({"g/manifest.json": b"{"}), "not valid JSON"),
    "nan": (
        lambda f, m: f.update({"g/manifest.json": b'{"a": NaN}'}),
        "not valid JSON",
    ),
    "deep": (
        lambda f, m: f.update({"g/manifest.json": b"[" * 5000 + b"]" * 5000}),
        "not valid JSON",
    ),
    "header not JSON": (
        lambda f, m: add(f, m, "g.zip/ambulo.json", b"{"),
        "not valid JSON",
    ),
    "header of nothing": (
        lambda f, m: add(f, m, "g.zip/ambulo.json", b'{"kind": "virus"}'),
        "is no kind of model",
    ),
    "header of another contract": (
        lambda f, m: add(f, m, "g.zip/ambulo.json", other_header(f, hidden="a lot")),
        "hidden",
    ),
    "stock zip": (without_header, "not a model file"),
    "damaged arrays": (
        lambda f, m: add(f, m, "a.npz.safetensors", b"not tensors"),
        "not a file of tensors",
    ),
}


@pytest.mark.integration
@pytest.mark.parametrize("change", CHANGES)
def test_a_hostile_repository_is_refused(
    change: str, pushed: Hub, hub_server: HubServer
) -> None:
    act, rule = CHANGES[change]
    tampered(hub_server, act)
    with pytest.raises(AmbuloError, match=rule) as caught:
        pulling.pull(pushed, PullFlags(source=REPOSITORY))
    assert "\n" not in str(caught.value)
    folder = ambulo.shipped.pulled_folder()
    assert not folder.exists() or list(folder.iterdir()) == []


def test_bytes_that_changed_on_the_way_are_refused(
    pushed: Hub, hub_server: HubServer
) -> None:
    good = hub_server.repositories[REPOSITORY].head[WEIGHTS]
    hub_server.served[WEIGHTS] = good[:-1] + bytes([good[-1] ^ 1])
    with pytest.raises(AmbuloError, match="the checksum is not that"):
        pulling.pull(pushed, PullFlags(source=REPOSITORY))
    del hub_server.served[WEIGHTS]
    assert pulling.pull(pushed, PullFlags(source=REPOSITORY)).name == "g"


def test_a_repository_of_too_many_files_is_refused(
    pushed: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "MAX_LISTED", 3)
    with pytest.raises(HubError, match="more than 3 files"):
        pulling.pull(pushed, PullFlags(source=REPOSITORY))


def test_a_hub_at_no_address_is_one_line() -> None:
    with pytest.raises(HubError, match=r"^a/b: not an address: "):
        Hub("http://[::1").listing("a/b")


@pytest.mark.parametrize("path", [WEIGHTS, "g/manifest.json"])
def test_bytes_beyond_the_stated_size_are_not_read(
    path: str, pushed: Hub, hub_server: HubServer
) -> None:
    good = hub_server.repositories[REPOSITORY].head[path]
    hub_server.served[path] = good + bytes(1 << 20)
    with pytest.raises(AmbuloError, match=r"sends more than the \d+ bytes that"):
        pulling.pull(pushed, PullFlags(source=REPOSITORY))


@pytest.mark.skipif(os.name == "nt", reason="no SIGTERM there")
def test_sigterm_leaves_nothing(
    pushed: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        assert list(ambulo.shipped.pulled_folder().iterdir()) != []
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(pulling, "_check_model", stop)
    with pytest.raises(SystemExit) as caught:
        cli.main(["pull", REPOSITORY])
    assert caught.value.code == 128 + signal.SIGTERM
    assert list(ambulo.shipped.pulled_folder().iterdir()) == []
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_signal_leaves_the_model_that_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def stop(path: Path, target: Path) -> None:
        if path.name == "new":
            raise SystemExit(143)
        rename(path, target)

    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "old.json").touch()
    monkeypatch.setattr(Path, "rename", stop)
    with pytest.raises(SystemExit), replace_folder(tmp_path / "g"):
        pass
    assert [path.name for path in (tmp_path / "g").iterdir()] == ["old.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["g"]


def test_more_bytes_than_stated_are_refused(
    pushed: Hub, hub_server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulling, "MAX_MODEL", 1000)
    with pytest.raises(AmbuloError, match="bytes, at most 1000"):
        pulling.pull(pushed, PullFlags(source=REPOSITORY))
    monkeypatch.setattr(manifests, "MAX_MODEL", 1000)
    with pytest.raises(AmbuloError, match="bytes in all, at most 1000"):
        pulling.pull(pushed, PullFlags(source=REPOSITORY))
    asked = [path for _, path in hub_server.asked if path.endswith(WEIGHTS)]
    assert asked == []  # refused before the large file was asked for


def test_names_of_folders_in_a_repository(hub: Hub, hub_server: HubServer) -> None:
    push(hub, share(PushFlags(model="gait_net", name="g", no_onnx=True)), REPOSITORY)
    head = hub_server.repositories[REPOSITORY].head
    moved: dict[str, bytes | None] = {
        f"..{path.removeprefix('g')}": data
        for path, data in head.items()
        if path.startswith("g/")
    }
    moved |= {path: None for path in head if path.startswith("g/")}
    hub_server.change(REPOSITORY, moved)
    with pytest.raises(AmbuloError, match="holds no model"):
        pulling.pull(hub, PullFlags(source=REPOSITORY))


def test_a_disk_that_is_full_leaves_nothing(
    pushed: Hub, tmp_full_disk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMBULO_MODELS", str(tmp_full_disk / "models"))
    with pytest.raises(AmbuloError, match="No space left"):
        pulling.pull(pushed, PullFlags(source=REPOSITORY))
    assert list((tmp_full_disk / "models").iterdir()) == []


def test_a_damaged_model_in_the_folder_hides_no_other(
    pushed: Hub, caplog: pytest.LogCaptureFixture
) -> None:
    folder = pulling.pull(pushed, PullFlags(source=REPOSITORY))
    bad = folder.with_name("bad")
    bad.mkdir()
    buffer = io.BytesIO()
    zipfile.ZipFile(buffer, "w").close()
    (bad / "bad.zip").write_bytes(buffer.getvalue())
    cards = ambulo.models()
    assert "g" in cards
    assert "bad" not in cards
    assert "bad.zip" in caplog.text
