"""The variational estimator: shapes, what is given, its file."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from ambulo.configs.errors import GaitDataError, GaitParameterError, ModelFileError
from ambulo.configs.gait import gait_space
from ambulo.configs.gait_vae import GaitVAEConfig
from ambulo.policies.agents.gait_estimator import load_estimator, save_estimator
from ambulo.policies.networks.gait_vae import GaitVAE
from ambulo.policies.networks.pose_noise import PoseNoise, plain_noise

SPACE = gait_space("human23")
GIVEN = ("global", "stride")


@pytest.fixture
def vae() -> GaitVAE:
    torch.manual_seed(1)
    return GaitVAE(SPACE, GaitVAEConfig(given=GIVEN, hidden=16, latent=4)).eval()


def test_given_parameters_come_out_as_they_went_in(vae: GaitVAE) -> None:
    params = torch.rand(3, 13)
    found, mean, log_variance = vae(torch.rand(3, 60, 101), params)
    told = [SPACE.index(name) for name in GIVEN]
    torch.testing.assert_close(found[:, told], params[:, told])
    assert mean.shape == log_variance.shape == (3, 4)
    free = [k for k in range(13) if k not in told]
    assert ((found[:, free] > 0.0) & (found[:, free] < 1.0)).all()


def test_only_given_parameters_are_seen(vae: GaitVAE) -> None:
    poses, params = torch.rand(1, 60, 101), torch.rand(1, 13)
    other = params.clone()
    other[:, SPACE.index("cadence")] += 0.2
    torch.manual_seed(3)
    first = vae(poses, params)[0]
    torch.manual_seed(3)
    torch.testing.assert_close(vae(poses, other)[0], first)
    other[:, SPACE.index("stride")] += 0.2
    torch.manual_seed(3)
    assert not torch.allclose(vae(poses, other)[0], first)


def test_sizes_are_the_published_ones() -> None:
    vae = GaitVAE(SPACE, GaitVAEConfig(given=SPACE.names[:12]))
    shapes = [tuple(w.shape) for n, w in vae.named_parameters() if "weight" in n]
    encoder = [(256, 60 * 101 + 12), (256, 256), (256, 256), (64, 256)]
    assert shapes == [*encoder, (256, 32 + 12), (256, 256), (256, 256), (1, 256)]


def test_estimate_of_a_network_that_says_one_thing(vae: GaitVAE) -> None:
    last = vae.decoder[-1]
    with torch.no_grad():
        last.weight.zero_()
        last.bias.zero_()  # a sigmoid of 0 is the middle of each range
    found = vae.estimate(
        np.zeros((60, 101)), {"global": 0.9, "stride": 1.2}, spread=np.full(13, 0.1)
    )
    named = SPACE.named(found.values)
    assert named["global"] == 0.9
    assert named["stride"] == pytest.approx(1.2)
    assert named["femur_torsion_left"] == pytest.approx(0.0, abs=1e-6)
    assert named["arm_length_right"] == pytest.approx(0.95)
    # Nothing comes from the latent: the held-out error is all the doubt.
    assert found.deviation[SPACE.index("cadence")] == pytest.approx(0.05)
    assert found.deviation[SPACE.index("global")] == 0.0


def test_bad_input_is_named(vae: GaitVAE) -> None:
    with pytest.raises(GaitDataError, match="must be told global"):
        vae.estimate(np.zeros((60, 101)), {"stride": 1.0})
    with pytest.raises(GaitDataError, match=r"got \(30, 101\)"):
        vae.estimate(np.zeros((30, 101)), {"stride": 1.0, "global": 1.0})
    with pytest.raises(GaitParameterError, match="strde"):
        GaitVAE(SPACE, GaitVAEConfig(given=("strde",)))
    with pytest.raises(GaitDataError, match="nothing to estimate"):
        GaitVAE(SPACE, GaitVAEConfig(given=SPACE.names))


def test_file_round_trip(vae: GaitVAE, tmp_path: Path) -> None:
    modes = np.zeros((1, 3030))
    modes[0, 5] = 1.0
    noise = PoseNoise(np.full(101, 0.5), modes, np.array([4.0]), 0.25)
    path = tmp_path / "estimator.zip"
    trust = np.linspace(0.0, 3.0, 13)
    save_estimator(path, vae, np.arange(13.0), noise, trust, command="here")
    found = load_estimator(path, SPACE)
    assert found.space == SPACE
    assert found.metadata.command == "here"
    np.testing.assert_array_equal(found.vae_error, np.arange(13.0))
    np.testing.assert_array_equal(found.noise.modes, modes)
    assert found.noise.floor == 0.25
    np.testing.assert_array_equal(found.trust, trust)
    poses, told = (
        np.random.default_rng(0).random((60, 101)),
        {"stride": 1.1, "global": 1.0},
    )
    np.testing.assert_array_equal(
        found.vae.estimate(poses, told).values, vae.estimate(poses, told).values
    )


def test_files_of_another_space_or_damaged_are_refused(
    vae: GaitVAE, tmp_path: Path
) -> None:
    path = tmp_path / "estimator.zip"
    save_estimator(path, vae, np.zeros(13), plain_noise(), np.ones(13))
    with pytest.raises(
        ModelFileError, match=r"other gait parameters: .*length_iliopsoas"
    ):
        load_estimator(path, gait_space("myolegs"))
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["ambulo.json"])
    header["modes"] = 3
    members["ambulo.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(ModelFileError, match=r"noise\.modes"):
        load_estimator(path)
