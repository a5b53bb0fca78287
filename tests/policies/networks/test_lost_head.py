"""The head that says when an agent is lost: its fit and its calibration."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ambulo.configs.errors import ModelFileError
from ambulo.policies.agents.navigation import Agent
from ambulo.policies.files.lost_header import LostHeader
from ambulo.policies.files.model_file import ModelFile, load_model, save_model
from ambulo.policies.kinds.vr_navigation import NavigationMetadata
from ambulo.policies.networks.lost_head import LostHead, fit_head, mapped, platt

HEADER = LostHeader(
    definition="lost", hidden=32, levels="train", episodes=2, calibration_episodes=1,
    base_rate=0.2, calibration=(1.0, 0.0), stalled=(1.0, -2.0), critic=None,
)  # fmt: skip


def test_platt_finds_the_map_of_the_scores() -> None:
    rng = np.random.default_rng(0)
    scores = 5.0 + 3.0 * rng.normal(size=50_000)
    lost = rng.random(len(scores)) < mapped(scores, (0.7, -4.0))
    assert platt(scores, lost) == pytest.approx((0.7, -4.0), rel=0.05)


def test_platt_stays_finite_where_scores_part_everything() -> None:
    lost = np.array([False, False, True, True])
    factor, offset = platt(np.array([0.0, 1.0, 2.0, 3.0]), lost)
    assert np.isfinite([factor, offset]).all()
    chances = mapped(np.array([0.0, 3.0]), (factor, offset))
    assert chances[0] < 0.3
    assert chances[1] > 0.7


@pytest.mark.integration
@pytest.mark.parametrize("hidden", [0, 32])
def test_a_head_learns_and_reads_latents_as_they_are(hidden: int) -> None:
    rng = np.random.default_rng(0)
    latent = (100.0 * rng.random((4000, 6)) * [1, 0, 1, 1, 1, 1]).astype(np.float32)
    lost = latent[:, 0] > 60.0
    head = fit_head(latent, lost, hidden=hidden)
    found = head(torch.as_tensor(latent)).numpy() > 0.0
    assert (found == lost).mean() > 0.95
    before = head(torch.as_tensor(latent))
    head.calibrate((2.0, -1.0))
    after = head(torch.as_tensor(latent))
    torch.testing.assert_close(after, 2.0 * before - 1.0, atol=1e-4, rtol=1e-5)


@pytest.mark.integration
def test_one_seed_gives_one_head() -> None:
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(600, 4)).astype(np.float32)
    state = torch.get_rng_state()
    one, two = (fit_head(latent, latent[:, 1] > 0.0).weights() for _ in range(2))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert torch.equal(torch.get_rng_state(), state)


def with_head(model: ModelFile) -> ModelFile:
    head = LostHead(8)
    metadata = model.metadata.model_copy(update={"lost": HEADER})
    return ModelFile(metadata, {**model.weights, **head.weights()})


def test_files_keep_the_head(tiny_model, tmp_path) -> None:
    model = with_head(tiny_model())
    save_model(tmp_path / "m.zip", model)
    loaded = load_model(tmp_path / "m.zip", NavigationMetadata)
    assert loaded.metadata.lost == HEADER
    agent, bare = Agent(loaded), Agent(tiny_model())
    obs = np.random.default_rng(0).normal(size=(5, 48)).astype(np.float32)
    np.testing.assert_array_equal(agent.act(obs), bare.act(obs))
    assert bare.lost is None
    assert agent.lost is not None
    assert agent.lost.shape == (5,)
    assert ((agent.lost > 0.0) & (agent.lost < 1.0)).all()


def test_files_without_a_head_do_not_name_it(tiny_model) -> None:
    assert '"lost"' not in tiny_model().metadata.to_json()


def test_a_head_and_its_header_belong_together(tiny_model, tmp_path) -> None:
    model = with_head(tiny_model())
    bare = tiny_model()
    with pytest.raises(ModelFileError, match="no 'lost' in the header"):
        save_model(tmp_path / "a.zip", ModelFile(bare.metadata, model.weights))
    with pytest.raises(ModelFileError, match=r"weight 'lost_net\.0\.bias' is missing"):
        save_model(tmp_path / "a.zip", ModelFile(model.metadata, bare.weights))
    assert not (tmp_path / "a.zip").exists()
