"""Settings of stable PD and of the muscle network."""

from __future__ import annotations

import pytest

from ambulo.configs.base import parse
from ambulo.configs.errors import ConfigError
from ambulo.configs.muscle import MuscleNNConfig, SpdGains


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stiffness": 0}, r"stiffness = 0"),
        ({"joints": [{"joints": "a", "stiffness": 1, "damping": -2}]}, r"joints\[0\]\.damping"),
        ({"stifness": 1}, r"unknown key 'stifness' \(did you mean 'stiffness'\?\)"),
    ],
)  # fmt: skip
def test_bad_gains_are_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(SpdGains, changes, "gains")


def test_bad_networks_are_named() -> None:
    with pytest.raises(ConfigError, match=r"weakness.*the range 0\.9 to 0\.2 is empty"):
        MuscleNNConfig().replace(weakness=(0.9, 0.2))
    with pytest.raises(ConfigError, match=r"weakness\[0\] = 0"):
        MuscleNNConfig().replace(weakness=(0.0, 1.0))
    with pytest.raises(ConfigError, match="output"):
        MuscleNNConfig().replace(output="softmax")


def test_configs_survive_json() -> None:
    config = MuscleNNConfig(hidden=(1024, 512, 512), output="relu_tanh", corrections=0)
    assert parse(MuscleNNConfig, config.model_dump(mode="json"), "json") == config
