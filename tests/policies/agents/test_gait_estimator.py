"""Files of gait estimators: round trip, older files, other parameters, damage."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import torch

from ambulo.configs.errors import ModelFileError
from ambulo.configs.gait import gait_space
from ambulo.policies.agents.gait_estimator import load_estimator, save_estimator
from ambulo.policies.files.archive import read_archive, zipped
from ambulo.policies.networks.gait_inverse import GaitInverse
from ambulo.policies.networks.pose_noise import PoseNoise

SPACE = gait_space("human23")
GIVEN = ("global", "stride")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    modes = np.zeros((1, 3030))
    modes[0, 5] = 1.0
    noise = PoseNoise(np.full(101, 0.5), modes, np.array([4.0]), 0.25)
    trust = np.linspace(0.0, 3.0, 13)
    inverse = GaitInverse(
        lambda params, phase: torch.zeros(1), SPACE, noise, trust=trust
    )
    path = tmp_path / "estimator.zip"
    save_estimator(path, inverse, GIVEN, command="here")
    return path


def rewrite(path: Path, change: dict[str, object], **weights: np.ndarray) -> None:
    members = read_archive(path)
    header = json.loads(members["ambulo.json"]) | change
    kept = {name: value for name, value in header.items() if value is not None}
    members["ambulo.json"] = json.dumps(kept).encode()
    tensors = safetensors.numpy.load(members["policy.safetensors"])
    named = {name.replace("__", "."): value for name, value in weights.items()}
    members["policy.safetensors"] = safetensors.numpy.save(tensors | named)
    path.write_bytes(zipped(members))


def test_file_round_trip(file: Path) -> None:
    found = load_estimator(file, SPACE)
    assert (found.space, found.given) == (SPACE, GIVEN)
    assert found.metadata.command == "here"
    assert found.noise.modes[0, 5] == 1.0
    assert found.noise.floor == 0.25
    np.testing.assert_allclose(found.trust, np.linspace(0.0, 3.0, 13))


def test_older_files_hold_a_variational_network_that_is_ignored(file: Path) -> None:
    before = load_estimator(file)
    vae = {"given": list(GIVEN), "hidden": 16, "latent": 10**9}
    one = np.ones(3, np.float32)
    rewrite(
        file, {"vae": vae, "given": None}, vae__encoder__0__bias=one,
        noise__vae_error=one,
    )  # fmt: skip
    found = load_estimator(file, SPACE)
    assert found.given == GIVEN
    np.testing.assert_array_equal(found.trust, before.trust)


def test_files_of_another_space_or_damaged_are_refused(file: Path) -> None:
    with pytest.raises(
        ModelFileError, match=r"other gait parameters: .*length_iliopsoas"
    ):
        load_estimator(file, gait_space("myolegs"))
    rewrite(file, {"modes": 3})
    with pytest.raises(ModelFileError, match=r"noise\.modes"):
        load_estimator(file)
