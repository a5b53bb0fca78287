"""What refinement leaves, to first order, is what the real refinement leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from ambulo.configs.neural_ik import IKRunConfig
from ambulo.evaluate.ik.scores import MASKS
from ambulo.ik.data.pose_data import PoseData
from ambulo.ik.pose import Pose, fk
from ambulo.ik.rig import TARGETS, Rig
from ambulo.ik.solver.features import output_of, pose_in_frame, root_frame
from ambulo.ik.solver.refine import refine
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply
from ambulo.train.ik.losses import PoseLoss
from ambulo.train.ik.poses import Poses
from ambulo.train.ik.refined import Refined, turns_between

Make = Callable[..., PoseData]
COUNT = 40


def left_over(
    make: Make, rig: Rig, names: Sequence[str], size: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Errors (n, J), [m], of poses near the truth: before, after, as foretold."""
    poses = Poses(make(), rig, IKRunConfig(), mirror=False)
    rows = np.arange(0, 9 * COUNT, 9)
    truth, targets = poses.pose(rows), poses.targets(rows, names)
    rng = np.random.default_rng(3)
    turns = size * rng.standard_normal((COUNT, len(rig), 3))
    shift = 0.1 * size * rng.standard_normal((COUNT, 3))
    start = Pose(
        truth.root + shift, quat_multiply(truth.rotations, quat_from_rotvec(turns))
    )
    true = fk(rig, truth)[0]
    before = np.linalg.norm(fk(rig, start)[0] - true, axis=-1)
    found = refine(rig, targets, start, 4).pose
    after = np.linalg.norm(fk(rig, found)[0] - true, axis=-1)
    batch = poses.batch(rows, truth, targets.position_weights, targets.rotation_weights)
    own = pose_in_frame(rig, start, root_frame(rig, targets))
    answer = output_of(own.root, own.rotations, np.zeros(3 + 6 * len(rig)))
    loss = PoseLoss(IKRunConfig(), rig, torch.device("cpu"))
    root, local = loss.decode(torch.from_numpy(answer).float(), batch)
    refined = Refined(rig, torch.device("cpu"))
    world = loss.kinematics.world(root, local)
    foretold = refined(*world, batch, torch.arange(COUNT)).numpy()
    return before, after, foretold


@pytest.mark.parametrize("mask", MASKS)
def test_small_errors_are_left_as_foretold(make: Make, rig: Rig, mask: str) -> None:
    before, after, foretold = left_over(make, rig, MASKS[mask], 0.02)
    assert before.mean() > 1.3 * after.mean()
    assert foretold.mean() == pytest.approx(after.mean(), rel=0.3)
    assert np.corrcoef(foretold.ravel(), after.ravel())[0, 1] > 0.9


def test_targets_are_met_and_absent_ones_ask_nothing(make: Make, rig: Rig) -> None:
    before, _, foretold = left_over(make, rig, TARGETS, 0.02)
    at = list(rig.effectors)
    assert foretold[:, at].mean() < 0.1 * before[:, at].mean()
    before, _, foretold = left_over(make, rig, ("Head",), 0.02)
    assert foretold[:, rig.effectors[4]].mean() < 1e-3
    assert foretold[:, rig.effectors[0]].mean() > 5e-3


def test_turns_in_the_world() -> None:
    vectors = torch.tensor([[0.3, -0.2, 0.1], [0.0, 0.0, 2.0]]).T[None]
    from ambulo.train.ik.kinematics import matrices_of_rotvec

    still = matrices_of_rotvec(torch.zeros_like(vectors))
    assert torch.allclose(
        turns_between(matrices_of_rotvec(vectors), still), vectors, atol=1e-5
    )
    base = matrices_of_rotvec(
        torch.tensor([0.5, 1.0, -0.7])[None, :, None].expand(1, 3, 2)
    )
    turned = torch.einsum("jabn,jbcn->jacn", matrices_of_rotvec(vectors), base)
    assert torch.allclose(turns_between(turned, base), vectors, atol=1e-5)


def test_the_term_learns(make: Make, rig: Rig) -> None:
    """Its gradient leads joints without a target home, and there is none at the truth's."""
    config = IKRunConfig.model_validate(
        {"loss": dict.fromkeys(
            ("position", "orientation", "contact", "pose", "limits", "smoothness"), 0.0
        ) | {"refined": 1.0, "sampled": 1.0}}
    )  # fmt: skip
    poses = Poses(make(), rig, config, mirror=False)
    batch = poses.draw(np.random.default_rng(0), 32)
    answer = (batch.outputs + 0.02 * torch.randn(batch.outputs.shape)).requires_grad_()
    loss = PoseLoss(config, rig, torch.device("cpu"))
    mean = torch.zeros(answer.shape[1])
    first = loss(answer, mean, batch)["loss"]
    first.backward()
    assert answer.grad is not None
    assert bool(torch.isfinite(answer.grad).all())
    with torch.no_grad():
        stepped = answer - 0.3 * answer.grad * 32 / answer.grad.abs().max() / 32 * 0.02
    assert float(loss(stepped, mean, batch)["loss"]) < float(first.detach())
    assert (
        float(loss(batch.outputs, mean, batch)["loss"])
        < 1e-2 * float(first.detach()) + 1e-3
    )
