"""Checks before a training starts: the data, and that both kinematics agree."""

from __future__ import annotations

import numpy as np
import torch

from ambulo.configs.errors import IKError
from ambulo.evaluate.ik.scores import MASKS
from ambulo.ik.rig import EFFECTORS
from ambulo.train.ik.losses import PoseLoss
from ambulo.train.ik.poses import Poses

WARN_CM, REFUSE_CM = 1.0, 5.0
"""From these errors on it warns, and refuses to train."""

SAMPLES = 512
"""Poses that are looked at."""


def kinematics_errors(poses: Poses, loss: PoseLoss) -> dict[str, float]:
    """RMS distance, [cm], of each effector between both kinematics, on true poses.

    The training's poses went through the network's output layout and back.
    """
    rig = poses.rig
    rows = np.linspace(0, len(poses) - 1, min(SAMPLES, len(poses))).astype(np.int64)
    pose = poses.pose(rows)
    ones = np.ones((len(rows), len(MASKS["all"])))
    batch = poses.batch(rows, pose, ones, ones)
    with torch.no_grad():
        device = loss.kinematics.device
        root, local = loss.decode(batch.outputs, batch)
        found = (
            loss.kinematics.world(root.to(device), local.to(device))[0].cpu().numpy()
        )
    true = batch.positions.numpy()
    errors = {}
    for name, joint in zip(EFFECTORS, rig.effectors, strict=False):
        far = np.linalg.norm(found[joint] - true[joint], axis=0)
        errors[name] = 100.0 * float(np.sqrt((far**2).mean()))
    return errors


def judge(errors: dict[str, float]) -> str | None:
    """A warning if the largest of `errors`, [cm], asks for one; `IKError` if too large."""
    name = max(errors, key=lambda effector: errors[effector])
    worst = errors[name]
    text = f"kinematics of training and run time differ by {worst:.2f} cm RMS at {name}"
    if not worst <= REFUSE_CM:
        raise IKError(f"{text}: more than {REFUSE_CM:g} cm, not trained")
    return text if worst > WARN_CM else None


def described(errors: dict[str, float]) -> str:
    """Return the errors as one line of text."""
    return "kinematics check, RMS: " + ", ".join(
        f"{name} {value:.5f} cm" for name, value in errors.items()
    )
