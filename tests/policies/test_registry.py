"""The registry: every shipped model is of a kind, and its header needs no torch."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
import torch

import ambulo.policies.kinds
from ambulo.common.find_model import find_model
from ambulo.configs.errors import ModelFileError
from ambulo.policies.files.model_file import ModelFile, save_model
from ambulo.policies.registry import (
    kind_of,
    load_file,
    model_kinds,
    read_header,
    shipped_cards,
)

SHIPPED = {
    "embodied_navigation": "vr_navigation",
    "gait_cascade": "ambulo-cascade",
    "gait_estimator": "gait_estimator",
    "gait_law": "gait_reference",
    "gait_net": "gait_net",
    "gait_net_impaired": "gait_net",
    "gait_walk": "locomotion",
    "ik_net": "ik_network",
    "ik_trackers": "body_tracker",
    "imitate_run": "locomotion",
    "imitate_walk": "locomotion",
    "imitate_walk_network": "locomotion",
    "imitate_walk_pure": "locomotion",
    "locomote": "locomotion",
    "motion_nn": "motion_nn",
    "muscle_nn_myolegs": "muscle_nn",
    "muscle_walk": "locomotion",
    "track": "locomotion",
    "vr_comfort": "vr_navigation",
    "vr_navigation": "vr_navigation",
    "walk_commands": "locomotion",
}


def test_every_shipped_model_is_of_a_kind() -> None:
    assert {name: card.kind for name, card in shipped_cards().items()} == SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_names_files_and_folders_lead_to_the_same_model(name: str) -> None:
    file = find_model(name)
    assert find_model(file) == find_model(file.parent) == file
    assert isinstance(read_header(file), model_kinds()[SHIPPED[name]].header)


@pytest.mark.parametrize("kind", sorted(model_kinds()))
def test_loaders_exist(kind: str) -> None:
    module, _, function = model_kinds()[kind].loader.partition(":")
    assert callable(getattr(import_module(module), function))


def test_other_files_are_named(tmp_path: Path) -> None:
    for name, data, rule in (
        ("a.json", b"{}", "not a model file: it names no kind of model"),
        ("a.onnx", b"no", "is an export for other programs"),
        ("b.json", b"[", "not valid JSON"),
        ("c.json", b"[]", "not the header of a model"),
        ("d.safetensors", b"no", "not a file of tensors"),
        ("e.npz", b"no", "not a zip file"),
        ("f.zip", b"no", "not a zip file"),
    ):
        file = tmp_path / name
        file.write_bytes(data)
        with pytest.raises(ModelFileError, match=rule) as caught:
            kind_of(file)
        assert str(caught.value).startswith(str(file))
    with pytest.raises(ModelFileError, match="no such model file"):
        kind_of(tmp_path / "none.zip")
    with pytest.raises(ModelFileError, match="did you mean 'ik_trackers'"):
        find_model("ik_tracker")


NEW_KIND = '''
from typing import Literal

from ambulo.policies.files.headers import FileHeader
from ambulo.policies.files.spec import ModelSpec


class ScaleMetadata(FileHeader):
    """A single number."""

    kind: Literal["scale"] = "scale"

    def weight_shapes(self, weights, source):
        return {"scale": (1,)}


def load(path):
    from ambulo.policies.files.model_file import load_model

    return float(load_model(path, ScaleMetadata).weights["scale"])


SPEC = ModelSpec(
    kind="scale",
    summary="scales",
    header=ScaleMetadata,
    loader=f"{__name__}:load",
    headline=lambda header: f"made {header.created}",
)
'''


def test_a_new_kind_is_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scale_model.py").write_text(NEW_KIND)
    paths = [*ambulo.policies.kinds.__path__, str(tmp_path)]
    monkeypatch.setattr(ambulo.policies.kinds, "__path__", paths)
    model_kinds.cache_clear()
    try:
        spec = model_kinds()["scale"]
        file = tmp_path / "run" / "scale.zip"
        file.parent.mkdir()
        save_model(file, ModelFile(spec.header(), {"scale": torch.tensor([2.5])}))
        assert kind_of(file) == "scale"
        assert load_file(find_model(file.parent)) == 2.5
        with pytest.raises(ModelFileError, match="'scale' has shape"):
            save_model(file, ModelFile(spec.header(), {"scale": torch.ones(2)}))
    finally:
        model_kinds.cache_clear()
