"""Terms of the loss on cases whose values are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from ambulo.configs.neural_ik import IKRunConfig
from ambulo.ik.data.pose_data import PoseData
from ambulo.ik.rig import Rig
from ambulo.train.ik.losses import PoseLoss
from ambulo.train.ik.poses import PoseBatch, Poses

Make = Callable[..., PoseData]
TERMS = (
    "position", "orientation", "contact", "pose", "limits", "refined", "smoothness",
)  # fmt: skip


def config_with(**weights: float) -> IKRunConfig:
    loss = dict.fromkeys((*TERMS, "effector"), 0.0) | weights
    return IKRunConfig.model_validate({"loss": loss})


@pytest.fixture
def batch(make: Make, rig: Rig) -> PoseBatch:
    poses = Poses(make(), rig, IKRunConfig(), mirror=False)
    return poses.draw(np.random.default_rng(0), 32)


def judged(
    config: IKRunConfig, rig: Rig, batch: PoseBatch, answer: torch.Tensor
) -> dict[str, float]:
    loss = PoseLoss(config, rig, torch.device("cpu"))
    terms = loss(answer, torch.zeros(answer.shape[1]), batch)
    return {name: float(value) for name, value in terms.items()}


def test_truth_costs_nothing(rig: Rig, batch: PoseBatch) -> None:
    assert batch.pairs == 4
    terms = judged(IKRunConfig(), rig, batch, batch.outputs)
    assert terms.keys() == {*TERMS, "loss"}
    assert all(value < 2e-3 for value in terms.values())


@pytest.mark.parametrize("term", TERMS)
def test_each_term_can_stand_alone(rig: Rig, batch: PoseBatch, term: str) -> None:
    answer = batch.outputs + 0.3 * torch.randn(
        batch.outputs.shape, generator=torch.manual_seed(1)
    )
    terms = judged(config_with(**{term: 2.0}), rig, batch, answer)
    assert terms.keys() == {term, "loss"}
    half = judged(config_with(**{term: 1.0}), rig, batch, answer)
    assert terms["loss"] == pytest.approx(2.0 * half["loss"], rel=1e-5)
    assert terms["loss"] > 0.0


def test_shifted_hips_cost_their_way(rig: Rig, batch: PoseBatch) -> None:
    answer = batch.outputs.clone()
    answer[:, 1] += 0.05
    terms = judged(
        config_with(position=1.0, contact=1.0, orientation=1.0, smoothness=1.0),
        rig,
        batch,
        answer,
    )
    assert terms["position"] == pytest.approx(0.5, abs=1e-4)  # 5 cm in units of 10 cm
    assert terms["contact"] == pytest.approx(0.5, abs=1e-4)
    assert terms["orientation"] < 2e-3
    assert terms["smoothness"] < 1e-3  # the error does not change


def test_smoothness_looks_at_pairs_alone(rig: Rig, batch: PoseBatch) -> None:
    answer = batch.outputs.clone()
    answer[1 : 2 * batch.pairs : 2, 2] += 0.03
    answer[2 * batch.pairs :, 2] += torch.arange(32 - 2 * batch.pairs) * 0.1
    terms = judged(config_with(smoothness=1.0), rig, batch, answer)
    assert terms["smoothness"] == pytest.approx(0.3, abs=1e-4)


def test_contact_looks_at_standing_feet_alone(rig: Rig, batch: PoseBatch) -> None:
    answer = batch.outputs.clone()
    stands = batch.contacts.sum(0) > 0
    answer[~stands, 2] += 1.0
    assert (~stands).any()
    assert judged(config_with(contact=1.0), rig, batch, answer)["contact"] < 1e-3


def test_targets_count_more(rig: Rig, batch: PoseBatch) -> None:
    loss = PoseLoss(config_with(position=1.0, effector=3.0), rig, torch.device("cpu"))
    there = batch.position_weights
    assert set(torch.unique(there).tolist()) <= {0.0, 1.0} or (there <= 1.0).all()
    answer = batch.outputs.clone()
    answer[:, 0] += 0.1  # the same error for all joints: no weight changes the mean
    value = loss(answer, torch.zeros(answer.shape[1]), batch)["position"]
    assert float(value) == pytest.approx(1.0, abs=1e-4)
