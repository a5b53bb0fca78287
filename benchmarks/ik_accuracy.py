"""How near do poses come to their targets and to the truth, on people never trained on?

Poses of the test people in captured motion, put inside the joint limits (so
every one can be reached), give targets: five effectors and the hips; the effectors alone;
head and hands alone. In one run: the network alone, network and refinement, the solver
without a network, and for three trackers nearest neighbour and ridge regression on the
same split.

    python benchmarks/ik_accuracy.py --data poses.npz      # of `ambulo ik extract`, or clips
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _harness import CMU, run
from scipy.spatial import KDTree

from ambulo.configs.arrays import Floats
from ambulo.configs.neural_ik import IKRunConfig
from ambulo.evaluate.ik.scores import MASKS, score
from ambulo.ik.data.extract import extract
from ambulo.ik.data.pose_data import load_poses
from ambulo.ik.pose import Pose
from ambulo.ik.solver.features import (
    decode_pose,
    network_input,
    output_of,
    pose_from_frame,
    pose_in_frame,
    root_frame,
)
from ambulo.ik.solver.network import load_ik_network
from ambulo.ik.solver.published import Context
from ambulo.ik.solver.refine import refine
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets
from ambulo.motion.datasets.clips import scan_clips
from ambulo.train.ik.poses import Poses

PENALTIES = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1)
"""Penalties of the ridge regression; the best on the validation people is taken."""


Solve = Callable[[Targets], Pose]


def _solver(solver: NeuralIKSolver) -> Solve:
    return lambda targets: solver.solve(targets).pose


def published_solvers(
    folders: Sequence[str], people: dict[str, list[str]], context: Context
) -> dict[str, Solve]:
    """Published networks, alone and refined."""
    found: dict[str, Solve] = {}
    for folder in folders:
        network = load_ik_network(folder)
        if set(network.header.extra["people"]["train"]) & set(people["test"]):
            raise SystemExit(f"{folder}: was trained on people of the test")
        for name, steps in (("alone", 0), ("3 steps", 3)):

            def solve(targets: Targets, network: Any = network, n: int = steps) -> Pose:
                start = network.predict(targets, context)
                return refine(network.rig, targets, start, n).pose if n else start

            found[f"{network.header.kind}, {name}"] = solve
    return found


def baselines(train: Poses, check: Poses, names: Sequence[str]) -> dict[str, Solve]:
    """Nearest neighbour and ridge regression on what the network sees, in its layout."""
    rig, rows = train.rig, np.arange(len(train))
    pose, targets = train.pose(rows), train.targets(rows, names)
    frame = root_frame(rig, targets)
    own = pose_in_frame(rig, pose, frame)
    inputs = network_input(rig, targets, frame).astype(np.float64)
    outputs = output_of(own.root, own.rotations, np.zeros(3 + 6 * len(rig)))
    middle, wide = inputs.mean(axis=0), inputs.std(axis=0)
    scale = np.where(wide > 1e-6, 1.0 / np.maximum(wide, 1e-6), 0.0)
    known = (inputs - middle) * scale
    gram, moments = known.T @ known, known.T @ (outputs - outputs.mean(axis=0))

    def solver(answer: Callable[[Floats], Floats]) -> Solve:
        def solve(targets: Targets) -> Pose:
            frame = root_frame(rig, targets)
            seen = (network_input(rig, targets, frame) - middle) * scale
            decoded = decode_pose(answer(seen), np.zeros(outputs.shape[1]))
            return pose_from_frame(rig, Pose(*decoded), frame)

        return solve

    def ridge(penalty: float) -> Solve:
        heavy = gram + penalty * len(known) * np.eye(len(gram))
        weights = np.linalg.solve(heavy, moments)
        return solver(lambda seen: seen @ weights + outputs.mean(axis=0))

    every = np.arange(len(check))
    truth, asked = check.pose(every), check.targets(every, names)
    ridges = [ridge(penalty) for penalty in PENALTIES]
    tree = KDTree(known)
    return {
        "nearest neighbour": solver(lambda seen: outputs[tree.query(seen)[1]]),
        "ridge regression": min(
            ridges, key=lambda solve: score(rig, asked, solve(asked), truth)["mpjpe_cm"]
        ),
    }


def measure(
    data: Path = CMU / "asfamc",
    network: str = "ik_net",
    poses: int = 4000,
    published: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Errors by targets and solver; `published` are networks of the published layouts."""
    net = load_ik_network(network)
    rig, config = net.rig, IKRunConfig()
    if data.is_file():
        known = load_poses(data)
    else:
        known = extract(scan_clips([str(data)], check=False)[0], rig).data
    people: dict[str, list[str]] = net.header.extra["people"]
    parts = {
        name: Poses(
            known[np.isin(known.subjects, who)], rig, config, mirror=name == "train"
        )
        for name, who in people.items()
    }
    test = parts["test"]
    rows = np.unique(np.linspace(0, len(test) - 1, poses).astype(np.int64))
    found: dict[str, Any] = {"people": people["test"], "poses": len(rows)}
    for mask, names in MASKS.items():
        solvers: dict[str, Solve] = {
            "no network, 15 steps": _solver(NeuralIKSolver(rig, far_steps=15)),
            "network alone": net.predict,
            "network + 3 steps": _solver(NeuralIKSolver(rig, net, steps=3)),
        }
        if mask == "trackers":
            solvers |= baselines(parts["train"], parts["validation"], names)
        if mask == "all":
            solvers |= published_solvers(published, people, test.context(rows))
        truth, targets = test.pose(rows), test.targets(rows, names)
        found[mask] = {
            name: score(rig, targets, solve(targets), truth)
            for name, solve in solvers.items()
        }
    plain, fine = (
        found["all"][n]["free_cm"]
        for n in ("no network, 15 steps", "network + 3 steps")
    )
    return {**found, "free_over_no_network": fine / plain}


if __name__ == "__main__":
    run(
        measure, {"poses": 20},
        [
            ("all.network + 3 steps.met_percent", ">=", 99.9),
            ("all.network + 3 steps.outside_percent", "<=", 0.0),
            ("all.network alone.position_cm", "<=", 3.0),
            ("all.network alone.rotation_deg", "<=", 8.0),
            ("all.network + 3 steps.free_cm", "<=", 2.5),
            ("free_over_no_network", "<=", 0.6),
            ("trackers.network + 3 steps.mpjpe_cm", "<=", 5.0),
        ],
    )  # fmt: skip
