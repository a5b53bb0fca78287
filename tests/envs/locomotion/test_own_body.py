"""Environments, settings and models of a body of the user's own."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from fixtures.own_bodies import dog_xml, humanoid_xml

import ambulo.envs  # noqa: F401
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference.configured import configured_character, with_body


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A humanoid as MJCF."""
    path = tmp_path / "my.xml"
    path.write_text(humanoid_xml())
    return path


@pytest.mark.integration
@pytest.mark.parametrize(
    ("xml", "balance"),
    [(humanoid_xml(), True), (humanoid_xml(), False), (dog_xml(), False)],
    ids=["humanoid", "no controller", "dog"],
)
def test_own_body_stands_for_ten_seconds_at_zero_action(
    file: Path, xml: str, balance: bool
) -> None:
    file.write_text(xml)
    settings = {"task": "stand", "character": str(file), "balance_law": balance}
    batch = make_batch(
        LocomotionConfig.model_validate({"environment": settings}), 4, seed=1
    )
    batch.reset(np.arange(4))
    down = np.zeros(4, np.bool_)
    for _ in range(300):
        down |= batch.step(np.zeros((4, batch.action_size)))[2]
    assert not down.any()


@pytest.mark.integration
def test_environment_keyword_takes_a_file(file: Path) -> None:
    env = gym.make("ambulo/Stand-v0", character=str(file))
    observation, _ = env.reset(seed=0)
    assert np.isfinite(observation).all()
    # Three axes of a hip, knee and two of an ankle on each side, and two of the waist.
    assert env.action_space.shape == (14,)
    env.close()


def test_settings_carry_the_body_and_need_its_file_no_more(file: Path) -> None:
    config = with_body(LocomotionConfig().override("environment", character=str(file)))
    file.unlink()
    again = LocomotionConfig.model_validate(json.loads(config.to_json()))
    assert (
        configured_character(again.environment).name
        == configured_character(config.environment).name
    )
    assert with_body(again) == again
    other = again.override("environment", character=str(file.with_name("other.xml")))
    with pytest.raises(ConfigError, match=r"other\.xml: cannot be read"):
        configured_character(other.environment)
