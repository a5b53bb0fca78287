"""What the page of the IK network holds: the rig, its starting pose and the network as ONNX."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from ambulo.ik.pose import fk, start_pose
from ambulo.ik.rig import TARGETS
from ambulo.ik.solver.solver import load_solver
from ambulo.policies.export.poses import export_solver
from ambulo.viz.page.bundle import PageError


def ik_data(model: str) -> dict[str, bytes]:
    """Return the rig and the network of the solver `model`.

    Raises:
        PageError: the solver has no network.
    """
    solver = load_solver(model)
    if solver.network is None:
        raise PageError(f"{model}: a solver without a network")
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
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ik.onnx"
        export_solver(solver, file)
        network = file.read_bytes()
    return {"ik.rig": json.dumps(data).encode(), "ik.network": network}
