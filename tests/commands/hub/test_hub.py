"""Models go to a hub and come back: the real client, a hub on this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from fixtures.hub_server import TOKEN, USER, HubServer

import ambulo
import ambulo.shipped
from ambulo.cli import main
from ambulo.commands.hub.client import Hub
from ambulo.commands.hub.errors import HubError
from ambulo.commands.hub.flags import PullFlags, PushFlags
from ambulo.commands.hub.manifest import contract_hash, sha256_of
from ambulo.commands.hub.pull import pull
from ambulo.commands.hub.push import push
from ambulo.commands.hub.share import SharedModel, share
from ambulo.policies.files.plain_files import PLAIN_ENDINGS
from ambulo.policies.files.raw_headers import raw_header

pytest.importorskip("huggingface_hub")
yaml = pytest.importorskip("yaml")

REPOSITORY = f"{USER}/gaits"


@pytest.fixture(scope="module")
def shared() -> SharedModel:
    return share(PushFlags(model="gait_net", name="my_gait", no_onnx=True))


def metadata(card: bytes) -> dict[str, object]:
    block = card.decode().split("---\n")[1]
    found: dict[str, object] = yaml.safe_load(block)
    return found


def test_a_model_goes_and_comes_back(
    hub: Hub, hub_server: HubServer, shared: SharedModel
) -> None:
    url = push(hub, shared, REPOSITORY)
    repository = hub_server.repositories[REPOSITORY]
    assert url == f"{hub_server.url}/{REPOSITORY}/commit/{repository.commits[-1]}"
    assert len(repository.commits) == 2  # its first one, and all of the model in one
    names = repository.head.keys() - {".gitattributes"}
    assert all(name.endswith((*PLAIN_ENDINGS, ".md")) for name in names)
    folder = pull(hub, PullFlags(source=REPOSITORY))
    assert folder == ambulo.shipped.pulled_folder() / "my_gait"
    shipped = ambulo.shipped.shipped_models()["gait_net"]
    assert (folder / "my_gait.zip").read_bytes() == shipped.read_bytes()
    assert sorted(p.name for p in folder.parent.iterdir()) == ["my_gait"]
    source = json.loads((folder / "source.json").read_text())
    assert source["repository"] == REPOSITORY
    assert source["commit"] == repository.commits[-1]
    assert ambulo.models()["my_gait"].kind == "gait_net"
    walk = ambulo.load("my_gait").walk(cycles=2)
    assert len(walk) == len(ambulo.load("gait_net").walk(cycles=2))


def test_the_token_goes_to_the_hub_and_not_to_its_storage(
    hub: Hub, hub_server: HubServer, shared: SharedModel
) -> None:
    push(hub, shared, REPOSITORY, private=True)
    assert hub_server.repositories[REPOSITORY].private
    pull(
        hub, PullFlags(source=REPOSITORY)
    )  # a private repository answers only to the token
    kinds = {(path.split("/")[1], token) for path, token in hub_server.tokens}
    assert ("api", TOKEN) in kinds
    assert {token for kind, token in kinds if kind == "storage"} == {None}


def test_the_card_says_what_the_model_is(shared: SharedModel) -> None:
    card = shared.files["README.md"]
    about = metadata(card)
    assert about["license"] == "mit"
    assert about["library_name"] == "ambulo"
    assert about["tags"] == ["ambulo", "gait_net"]
    assert about["contract"] == {"my_gait": shared.manifest.contract}
    raw, _ = raw_header(ambulo.shipped.shipped_models()["gait_net"])
    assert shared.manifest.contract == contract_hash(raw)
    text = card.decode()
    assert "](../" not in text  # nothing that is not there
    assert "![" not in text
    assert 'ambulo.load("my_gait")' in text
    for entry in shared.manifest.files:
        assert sha256_of(shared.files[entry.path]) == entry.sha256


def test_results_are_in_the_card(tmp_path: Path) -> None:
    score = {"value": 0.5, "low": 0.25, "high": 0.75, "unit": "1"}
    file = tmp_path / "scores.json"
    file.write_text(
        json.dumps(
            {
                "format": "ambulo-evaluation",
                "version": 1,
                "evaluated": "60 gaits",
                "command": "ambulo eval gait_net",
                "episodes": 60,
                "seed": 3,
                "agents": {"policy": {"recovered": score}, "zero": {"speed_m": score}},
                "rows": [{"agent": "policy"}],
            }
        )
    )
    model = share(
        PushFlags(model="gait_net", name="g", results=str(file), no_onnx=True)
    )
    card = model.files["README.md"]
    [entry] = metadata(card)["model-index"]  # type: ignore[misc]
    [metric] = entry["results"][0]["metrics"]
    assert (metric["type"], metric["value"]) == ("recovered", 0.5)
    assert "| recovered | 0.5 [0.25, 0.75] | - |" in card.decode()
    assert "| speed_m | - | 0.5 [0.25, 0.75] |" in card.decode()
    for text, rule in (
        ("[]", "not the JSON of `ambulo eval`"),
        ("{", "not valid JSON"),
        ('{"format": "ambulo-evaluation"}', "evaluated"),
    ):
        file.write_text(text)
        with pytest.raises(HubError, match=rule):
            share(PushFlags(model="gait_net", results=str(file), no_onnx=True))


def test_a_licence_is_refused_before_onnx_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(HubError, match="expected an identifier"):
        share(PushFlags(model="gait_net", licence="My own"))


def test_a_second_model_joins_and_an_old_version_goes(
    hub: Hub, hub_server: HubServer, shared: SharedModel
) -> None:
    push(hub, shared, REPOSITORY)
    push(hub, share(PushFlags(model="gait_law", no_onnx=True)), REPOSITORY)
    head = hub_server.repositories[REPOSITORY].head
    assert "[my_gait](my_gait/README.md)" in head["README.md"].decode()
    assert "[gait_law](gait_law/README.md)" in head["README.md"].decode()
    with pytest.raises(HubError, match="several models; name one: gait_law, my_gait"):
        pull(hub, PullFlags(source=REPOSITORY))
    with pytest.raises(HubError, match=r"no model 'my_gate'.*my_gait"):
        pull(hub, PullFlags(source=f"{REPOSITORY}/my_gate"))
    hub_server.change(REPOSITORY, {"my_gait/old.json": b"{}"})
    push(hub, shared, REPOSITORY)
    assert "my_gait/old.json" not in hub_server.repositories[REPOSITORY].head
    assert (
        pull(hub, PullFlags(source=f"{REPOSITORY}/gait_law", name="law")).name == "law"
    )
    assert ambulo.load("law").name == "healthy gait"


def test_a_change_in_between_is_refused(
    hub: Hub, hub_server: HubServer, shared: SharedModel
) -> None:
    push(hub, shared, REPOSITORY)
    hub_server.before_commit = lambda there: there.change(REPOSITORY, {"a.md": b"a"})
    with pytest.raises(HubError, match="changed meanwhile: run it again"):
        push(hub, shared, REPOSITORY)
    assert hub_server.repositories[REPOSITORY].messages[-1] == "changed"


def test_revisions_and_names(
    hub: Hub, hub_server: HubServer, shared: SharedModel
) -> None:
    push(hub, shared, REPOSITORY)
    first = hub_server.repositories[REPOSITORY].commits[-1]
    hub_server.change(REPOSITORY, {"my_gait/manifest.json": None})
    with pytest.raises(HubError, match="holds no model of Ambulo"):
        pull(hub, PullFlags(source=REPOSITORY))
    folder = pull(hub, PullFlags(source=REPOSITORY, revision=first))
    with pytest.raises(HubError, match="--force replaces it"):
        pull(hub, PullFlags(source=REPOSITORY, revision=first))
    (folder / "left.txt").write_text("of before")
    assert pull(hub, PullFlags(source=REPOSITORY, revision=first, force=True)) == folder
    assert not (folder / "left.txt").exists()
    with pytest.raises(HubError, match="no such revision"):
        pull(hub, PullFlags(source=REPOSITORY, revision="v9"))
    for name, rule in (
        ("vr_navigation", "a shipped model has this name"),
        ("../up", "not a name of a model"),
        ("", "--force"),
    ):
        with pytest.raises(HubError, match=rule):
            pull(hub, PullFlags(source=REPOSITORY, revision=first, name=name))
    assert sorted(p.name for p in folder.parent.iterdir()) == ["my_gait"]


def test_a_broken_download_is_continued_and_kept(
    hub: Hub,
    hub_server: HubServer,
    shared: SharedModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The client keeps pieces of 10 MB; the model is smaller.
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1000)
    push(hub, shared, REPOSITORY)
    [oid] = hub_server.large
    hub_server.breaks = len(hub_server.large[oid]) // 2
    assert pull(hub, PullFlags(source=REPOSITORY)).name == "my_gait"
    [start] = [int(r.removeprefix("bytes=")[:-1]) for r in hub_server.ranges]
    assert 0.9 * hub_server.breaks < start <= hub_server.breaks
    hub_server.asked.clear()
    assert pull(hub, PullFlags(source=REPOSITORY, name="again")).name == "again"
    assert not [p for how, p in hub_server.asked if how == "GET" and oid in p]


def test_a_hub_that_refuses(
    hub: Hub,
    hub_server: HubServer,
    shared: SharedModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(HubError, match="no such repository"):
        pull(hub, PullFlags(source="owner/nothing"))
    with pytest.raises(HubError, match="not a name of a repository"):
        pull(hub, PullFlags(source="some body/no thing"))
    hub_server.readonly = True
    with pytest.raises(HubError, match=r"not allowed.*right to write"):
        push(hub, shared, REPOSITORY)
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(HubError, match="not logged in"):
        Hub(hub_server.url).user()
    with pytest.raises(HubError, match="cannot be reached"):
        Hub("http://127.0.0.1:9").user()


@pytest.mark.integration
def test_the_commands(
    hub_server: HubServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in (
        ("HF_ENDPOINT", hub_server.url),
        ("HF_HOME", str(tmp_path / "home")),
        ("AMBULO_MODELS", str(tmp_path / "models")),
    ):
        monkeypatch.setenv(name, value)
    assert main(["push", "gait_net", "--name", "walks"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{hub_server.url}/{USER}/ambulo-walks/commit/")
    head = hub_server.repositories[f"{USER}/ambulo-walks"].head
    assert head["walks/walks.onnx"]
    assert metadata(head["README.md"])["license"] == "mit"
    assert main(["pull", f"{USER}/ambulo-walks"]) == 0
    assert (tmp_path / "models" / "walks" / "walks.onnx").is_file()
    capsys.readouterr()
    assert main(["models"]) == 0
    said = capsys.readouterr().out
    [line] = [row for row in said.splitlines() if "(pulled)" in row]
    assert line.startswith("walks ")


def test_bad_input_is_one_line(
    hub: Hub,
    hub_server: HubServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    push(
        hub,
        share(PushFlags(model="gait_law", name="law", no_onnx=True)),
        f"{USER}/ambulo-walks",
    )
    pull(hub, PullFlags(source=f"{USER}/ambulo-walks"))
    for arguments, token, line in (
        (
            ["push", "gait_net"],
            "",
            "not logged in: run `hf auth login`, or set HF_TOKEN",
        ),
        (["push", "no_such"], TOKEN, "no such model file or shipped model"),
        (["push", "gait_net", "--licence", "My own"], TOKEN, "expected an identifier"),
        (["push", "gait_net", "--name", "a b", "--no-onnx"], TOKEN, "not a name of a"),
        (["push", "gait_law", "--to", "one"], TOKEN, "expected OWNER/REPO"),
        (["pull", "one"], TOKEN, "expected OWNER/REPO or OWNER/REPO/NAME"),
        (["pull", f"{USER}/ambulo-walks"], TOKEN, "--force replaces it"),
    ):
        monkeypatch.setenv("HF_TOKEN", token)
        assert main(arguments) == 2, arguments
        errors = capsys.readouterr().err
        assert line in errors
        assert errors.count("\n") == 1
