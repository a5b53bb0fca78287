"""Forward kinematics, limits and angles of training against those of run time."""

from __future__ import annotations

import numpy as np
import torch

from ambulo.ik.limits import violation
from ambulo.ik.pose import Pose, fk
from ambulo.ik.rig import Rig
from ambulo.motion.rotations import quat_from_rotvec, quat_to_matrix
from ambulo.train.ik.kinematics import (
    Kinematics,
    angles_between,
    distances,
    matrices_of_quat,
    matrices_of_rotvec,
    matrices_of_sixd,
    product,
)


def last(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.moveaxis(array, 0, -1).copy()).float()


def random_turns(rig: Rig, count: int, size: float) -> np.ndarray:
    rng = np.random.default_rng(3)
    turns: np.ndarray = quat_from_rotvec(rng.normal(0.0, size, (count, len(rig), 3)))
    return turns


def test_world_equals_run_time(rig: Rig) -> None:
    turns = random_turns(rig, 20, 1.0)
    root = np.random.default_rng(4).normal(size=(20, 3))
    positions, orientations = fk(rig, Pose(root, turns))
    where, how = Kinematics(rig).world(last(root), matrices_of_quat(last(turns)))
    assert np.abs(np.moveaxis(where.numpy(), -1, 0) - positions).max() < 2e-6
    wanted = quat_to_matrix(orientations)
    assert np.abs(np.moveaxis(how.numpy(), -1, 0) - wanted).max() < 2e-6


def test_violation_equals_run_time(rig: Rig) -> None:
    turns = random_turns(rig, 50, 1.2)
    turns = turns[(turns[..., 0] ** 2 + turns[..., 2] ** 2 > 0.02).all(axis=1)]
    wanted = violation(rig, turns)
    found = Kinematics(rig).violation(matrices_of_quat(last(turns)))
    assert (wanted > 0.1).any()
    assert np.abs(found.numpy() - wanted).max() < 1e-3


def test_quarter_turn_by_hand(rig: Rig) -> None:
    quarter = matrices_of_rotvec(torch.tensor([[[0.0], [0.0], [np.pi / 2]]]))
    wanted = torch.tensor([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert torch.allclose(quarter[0, ..., 0], wanted, atol=1e-6)
    half = product(quarter, quarter)
    assert torch.allclose(
        half[0, ..., 0], torch.diag(torch.tensor([-1.0, -1.0, 1.0])), atol=1e-6
    )
    assert torch.allclose(
        angles_between(quarter, half), torch.tensor(np.pi / 2).float()
    )


def test_six_numbers_need_not_be_orthonormal() -> None:
    six = torch.tensor([2.0, 0.0, 0.0, 5.0, 3.0, 0.0]).reshape(1, 6, 1)
    assert torch.allclose(matrices_of_sixd(six)[0, ..., 0], torch.eye(3), atol=1e-6)


def test_gradients_stay_finite_where_nothing_differs(rig: Rig) -> None:
    vectors = torch.zeros(len(rig), 3, 2, requires_grad=True)
    local = matrices_of_rotvec(vectors)
    root = torch.zeros(3, 2, requires_grad=True)
    kinematics = Kinematics(rig)
    where, how = kinematics.world(root, local)
    loss = (
        angles_between(how, how.detach()).sum()
        + distances(where, where.detach()).sum()
        + kinematics.violation(local).sum()
    )
    loss.backward()  # type: ignore[no-untyped-call]
    assert vectors.grad is not None
    assert bool(torch.isfinite(vectors.grad).all())
    assert float(loss.detach()) < 1e-3
