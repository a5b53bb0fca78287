"""How good a network of poses is on people that it does not learn from."""

from __future__ import annotations

import numpy as np

from ambulo.evaluate.ik.scores import MASKS, score
from ambulo.ik.solver.headers import IKNetworkHeader
from ambulo.ik.solver.network import IKNetwork
from ambulo.policies.networks.ik_net import IKNet
from ambulo.train.ik.poses import Poses

SAMPLES = 1024
"""Poses that are validated with, evenly spread."""


def validate(network: IKNet, poses: Poses) -> tuple[float, dict[str, float]]:
    """The mean over the sets of targets of the joints' mean distance, [cm], and its parts.

    What is validated is the exported network, by the code of run time.
    """
    scores = scores_of(network, poses)
    row = {
        f"{mask}/{name}": value
        for mask, found in scores.items()
        for name, value in found.items()
    }
    error = float(np.mean([found["mpjpe_cm"] for found in scores.values()]))
    return error, row | {"error_cm": error}


def scores_of(network: IKNet, poses: Poses) -> dict[str, dict[str, float]]:
    """Scores of the raw network for each set of targets that it serves."""
    rig = poses.rig
    rows = np.linspace(0, len(poses) - 1, min(SAMPLES, len(poses))).astype(np.int64)
    truth = poses.pose(rows)
    header = IKNetworkHeader.of(network.config, rig.name)
    live = IKNetwork(header, network.tensors(), rig=rig)
    if live.is_published:
        targets = poses.targets(rows, MASKS["all"])
        found = live.predict(targets, poses.context(rows))
        return {"all": score(rig, targets, found, truth)}
    scores = {}
    for mask, names in MASKS.items():
        targets = poses.targets(rows, names)
        scores[mask] = score(rig, targets, live.predict(targets), truth)
    return scores
