"""Model files of every kind: saved files load, and damage is one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch
from fixtures.model_files import HEADER, POLICY, Members, members_of, write_zip

from ambulo.configs.errors import ModelFileError
from ambulo.policies.files.headers import FileHeader
from ambulo.policies.files.model_file import ModelFile, load_model, save_model
from ambulo.policies.registry import model_kinds, shipped_cards

Weights = dict[str, torch.Tensor]
SHIPPED = {
    card.kind: card.path
    for card in shipped_cards().values()
    if issubclass(model_kinds()[card.kind].header, FileHeader)
}
"""One file of each kind of our zip format."""


@pytest.fixture(scope="module", params=sorted(SHIPPED))
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def model(kind: str) -> ModelFile[FileHeader]:
    """The contents of a shipped file, which tests only read."""
    return load_model(SHIPPED[kind], model_kinds()[kind].header)


def test_what_is_saved_is_loaded(model: ModelFile[FileHeader], tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    save_model(path, model)
    loaded = load_model(path, type(model.metadata))
    assert loaded.metadata == model.metadata
    assert loaded.weights.keys() == model.weights.keys()
    assert all(torch.equal(loaded.weights[k], v) for k, v in model.weights.items())
    assert loaded.attachments == model.attachments
    assert loaded.training is None
    assert [file.name for file in tmp_path.iterdir()] == ["model.zip"]


def test_weights_that_do_not_fit_are_not_saved(
    model: ModelFile[FileHeader], tmp_path: Path
) -> None:
    path = tmp_path / "model.zip"
    path.write_bytes(b"before")
    name = min(model.weights)
    others = {key: w for key, w in model.weights.items() if key != name}
    for weights, rule in (
        (others, f"{name}' is missing|{name}: expected"),
        ({**model.weights, name: torch.full_like(model.weights[name], torch.nan)}, "finite"),
    ):  # fmt: skip
        with pytest.raises(ModelFileError, match=rule):
            save_model(path, ModelFile(model.metadata, weights))
    assert path.read_bytes() == b"before"


def header(**changes: object) -> Callable[[Members], None]:
    """Change fields of the header."""

    def change(members: Members) -> None:
        data = json.loads(members[HEADER])
        members[HEADER] = json.dumps({**data, **changes}).encode()

    return change


def weights(change: Callable[[str, Weights], object]) -> Callable[[Members], None]:
    """Change a weight."""

    def apply(members: Members) -> None:
        tensors = safetensors.torch.load(members[POLICY])
        change(min(tensors), tensors)
        members[POLICY] = safetensors.torch.save(tensors)

    return apply


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (header(format="other"), "format is not"),
        (header(version=2), "version 2 is newer than 1"),
        (header(version=0), "version = 0"),
        (header(kind="walk"), "kind is 'walk', expected"),
        (header(surprise=1), "unknown key 'surprise'"),
        (lambda members: members.pop(HEADER), "no ambulo.json inside: not a model file"),
        (lambda members: members.pop(POLICY), "no policy.safetensors"),
        (weights(lambda name, w: w.pop(name)), "is missing|expected"),
        (weights(lambda name, w: w.update(more=torch.ones(1))), "unexpected weight 'more'"),
        (weights(lambda name, w: w[name].fill_(torch.nan)), "not finite"),
        (weights(lambda name, w: w.update({name: torch.ones(1, 2, 3)})), "shape|expected"),
        (weights(lambda name, w: w.update({name: w[name].double()})), "is F64, expected F32"),
    ],
)  # fmt: skip
def test_damage_is_one_line_that_names_the_file(
    kind: str,
    change: Callable[[Members], None],
    rule: str,
    tmp_path: Path,
) -> None:
    members = members_of(SHIPPED[kind])
    change(members)
    path = write_zip(tmp_path / "model.zip", members)
    with pytest.raises(ModelFileError, match=rule) as caught:
        load_model(path, model_kinds()[kind].header)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b"\xff", b'{"a": NaN}', b"[" * 100_000, b"9" * 5000]
)
def test_headers_that_are_not_json_are_refused(text: bytes, tmp_path: Path) -> None:
    path = write_zip(tmp_path / "model.zip", {HEADER: text})
    with pytest.raises(ModelFileError, match=r"model\.zip: ambulo\.json"):
        load_model(path, model_kinds()["gait_net"].header)
