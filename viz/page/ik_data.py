"""Contents of the page of the IK network: the rig, its starting pose and plain layers."""

from __future__ import annotations

import json

from ambulo.ik.pose import fk, start_pose
from ambulo.ik.rig import TARGETS
from ambulo.ik.solver.solver import load_solver
from ambulo.policies.export.network_layers import Dense, packed
from ambulo.viz.page.bundle import PageError


def ik_data(model: str) -> dict[str, bytes]:
    """Return the rig and the network of the solver `model`.

    Raises:
        PageError: The solver has no network, or the published layout.
    """
    solver = load_solver(model)
    if solver.network is None:
        raise PageError(f"{model}: a solver without a network")
    if solver.network.is_published:
        raise PageError(
            f"{model}: the page runs networks of targets, not published ones"
        )
    rig = solver.network.rig
    pose = start_pose(rig)
    places, turns = fk(rig, pose)
    targets = [
        {
            "name": name,
            "position": places[0, joint].tolist(),
            "rotation": turns[0, joint].tolist(),
            "joint": joint,
        }
        for name, joint in zip(TARGETS, rig.effectors, strict=True)
    ]
    data = {
        "joints": list(rig.skeleton.joints),
        "parents": list(rig.skeleton.parents),
        "offsets": rig.skeleton.offsets.tolist(),
        "rest": rig.skeleton.rest.tolist(),
        "targets": targets,
    }
    tensors, settings = solver.network.tensors(), solver.network.header
    last = len(settings.hidden)
    layers = [
        Dense(
            tensors[f"layers.{k}.weight"],
            tensors[f"layers.{k}.bias"],
            "none" if k == last else settings.activation,
        )
        for k in range(last + 1)
    ]
    rows, numbers = packed(layers)
    header = {
        "layers": rows,
        "mean": solver.network.mean.tolist(),
        "targetRest": rig.target_rest.tolist(),
        "rootRest": rig.skeleton.rest[0].tolist(),
    }
    return {
        "ik.rig": json.dumps(data).encode(),
        "network.header": json.dumps(header).encode(),
        "network.weights": numbers.tobytes(),
    }
