"""Model files of bodies of the user's own: the body is inside, and nothing outside is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fixtures.model_files import HEADER, change_header, members_of
from fixtures.own_bodies import humanoid_xml
from fixtures.untrained import save_untrained

from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference.configured import (
    configured_character,
    reference_of,
    with_body,
)
from ambulo.policies.agents.locomotion import load_locomotion


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The model file of a standing body, whose XML is gone."""
    file = tmp_path / "my.xml"
    file.write_text(humanoid_xml())
    settings = {"task": "stand", "character": str(file), "balance_law": False}
    config = with_body(LocomotionConfig.model_validate({"environment": settings}))
    file.unlink()
    env = config.environment
    reference = reference_of(env, configured_character(env))
    batch = make_batch(config, 1, seed=0, reference=reference)
    return save_untrained(tmp_path / "model.zip", config, batch, reference)


def edited(model: Path, **changes: object) -> Path:
    """A copy with other settings of the environment, and no fingerprint of them."""

    def change(header: dict[str, Any]) -> None:
        header["contract"] = ""
        header["config"]["environment"] |= changes

    return change_header(model, change, model.with_name("edited.zip"))


@pytest.mark.integration
def test_model_brings_its_body_by_name_without_its_place(model: Path) -> None:
    env = load_locomotion(model).metadata.config.environment
    assert env.character == "my.xml"
    assert configured_character(env).skeleton.joints[0] == "pelvis"


@pytest.mark.integration
@pytest.mark.parametrize(
    "character", ["os:abort", "/etc/passwd.xml", "../../other.urdf"]
)
def test_model_that_names_a_file_or_function_is_refused(
    model: Path, character: str
) -> None:
    with pytest.raises(ModelFileError, match="unknown character"):
        load_locomotion(edited(model, character=character))
    with pytest.raises(ModelFileError, match="unknown character"):
        load_locomotion(edited(model, body=None))


@pytest.mark.integration
def test_model_whose_body_reads_files_is_refused(model: Path) -> None:
    header = json.loads(members_of(model)[HEADER])
    body = header["config"]["environment"]["body"]
    body["xml"] = body["xml"].replace(
        "<worldbody>", '<include file="/etc/passwd"/><worldbody>'
    )
    env = load_locomotion(edited(model, body=body)).metadata.config.environment
    with pytest.raises(ConfigError, match="its XML holds <include>"):
        configured_character(env)
