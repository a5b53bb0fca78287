"""How good a network of poses is on people that it does not learn from; and its export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.evaluate.ik.data import MASKS, Poses
from ambulo.evaluate.ik.scores import PoseScores, score
from ambulo.ik.rig import Rig
from ambulo.ik.solver.headers import IKNetworkHeader, PublishedHeader
from ambulo.ik.solver.network import IKNetwork, save_ik_network
from ambulo.ik.solver.published import PublishedNetwork, save_published
from ambulo.policies.networks.ik_net import IKNet

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
        for name, value in asdict(found).items()
    }
    error = float(np.mean([found.mpjpe_cm for found in scores.values()]))
    return error, row | {"error_cm": error}


def scores_of(network: IKNet, poses: Poses) -> dict[str, PoseScores]:
    """Scores of the raw network for each set of targets that it serves."""
    rig = poses.rig
    rows = np.linspace(0, len(poses) - 1, min(SAMPLES, len(poses))).astype(np.int64)
    truth = poses.pose(rows)
    tensors = network.tensors()
    if network.config.kind != "own":
        published = PublishedNetwork(tensors, network.config.kind, rig=rig)
        targets = poses.targets(rows, MASKS["all"])
        found = published.predict(targets, poses.context(rows))
        return {"all": score(rig, targets, found, truth)}
    own = IKNetwork(_header(network, rig, {}), tensors, rig=rig)
    scores = {}
    past = poses.past(rows)
    for mask, names in MASKS.items():
        if past and mask != "trackers":
            continue
        targets = poses.targets(rows, names)
        scores[mask] = score(rig, targets, own.predict(targets, past), truth)
    return scores


def export(network: IKNet, folder: Path, rig: Rig, extra: Mapping[str, Any]) -> None:
    """Write the network as a folder that `ambulo.ik` loads."""
    kind = network.config.kind
    if kind == "own":
        save_ik_network(folder, _header(network, rig, extra), network.tensors())
    else:
        header = PublishedHeader(kind=kind, rig=rig.name, extra=dict(extra))
        save_published(folder, header, network.tensors())


def _header(network: IKNet, rig: Rig, extra: Mapping[str, Any]) -> IKNetworkHeader:
    config = network.config
    return IKNetworkHeader(
        rig=rig.name,
        hidden=config.hidden,
        activation=config.activation,
        slope=config.slope,
        past=config.past,
        extra=dict(extra),
    )
