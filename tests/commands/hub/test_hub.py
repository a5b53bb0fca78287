"""Models go to a hub and come back: the real client, a hub on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.hub_server import USER, HubServer, hub_server  # noqa: F401

import ambulo
import ambulo.shipped
from ambulo.commands.hub.client import Hub
from ambulo.commands.hub.pull import pull
from ambulo.commands.hub.push import push
from ambulo.commands.hub.share import share
from ambulo.policies.files.plain_files import PLAIN_ENDINGS


@pytest.fixture
def hub(hub_server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:  # noqa: F811
    monkeypatch.setenv("AMBULO_MODELS", str(tmp_path / "models"))
    return Hub(hub_server.url)


def test_a_model_goes_and_comes_back(hub: Hub, hub_server: HubServer) -> None:  # noqa: F811
    model = share("gait_net", name="my_gait", onnx=False)
    url = push(hub, model, f"{USER}/gaits")
    repository = hub_server.repositories[f"{USER}/gaits"]
    assert url == f"{hub_server.url}/{USER}/gaits/commit/{repository.commits[-1]}"
    names = repository.head.keys() - {".gitattributes"}
    assert all(name.endswith((*PLAIN_ENDINGS, ".md")) for name in names)
    folder = pull(hub, f"{USER}/gaits")
    assert folder == ambulo.shipped.pulled_folder() / "my_gait"
    shipped = ambulo.shipped.shipped_models()["gait_net"]
    assert (folder / "my_gait.zip").read_bytes() == shipped.read_bytes()
    assert ambulo.models()["my_gait"].kind == "ref_nn"
    walk = ambulo.load("my_gait").walk(cycles=2)
    assert len(walk) == len(ambulo.load("gait_net").walk(cycles=2))
