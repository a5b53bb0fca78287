"""How near do poses come to their targets and to the truth, on people never trained on?

Poses of the test people in captured motion, put inside the joint limits (so
every one can be reached), give targets: five effectors and the hips; the effectors alone;
head and hands alone. In one run: the network alone, network and refinement, the solver
without a network, and for three trackers nearest neighbour and ridge regression on the
same split. Distances are Euclidean. A target that is missed is exit code 1.

    python benchmarks/ik_accuracy.py --poses-file poses.npz --json docs/results/ik_accuracy.json
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Options, exit_code, write
from _ik_baselines import NearestPose, Ridge, answer, examples
from numpy.typing import NDArray

from ambulo.common.errors import front_door
from ambulo.configs.neural_ik import IKRunConfig
from ambulo.evaluate.ik.data import MASKS, Poses
from ambulo.evaluate.ik.scores import score
from ambulo.ik.data.extract import extract
from ambulo.ik.data.pose_data import PoseData, load_poses
from ambulo.ik.pose import Pose
from ambulo.ik.rig import TARGETS, Rig
from ambulo.ik.solver.network import IKNetwork, load_ik_network
from ambulo.ik.solver.published import Context
from ambulo.ik.solver.refine import refine
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets
from ambulo.motion.datasets.clips import scan_clips

PENALTIES = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1)
"""Of the ridge regression; the best on the validation people is taken."""

COLUMNS = {
    "mpjpe_cm": "MPJPE cm",
    "mpjre_deg": "MPJRE deg",
    "free_cm": "free cm",
    "position_cm": "target cm",
    "rotation_deg": "target deg",
    "met_percent": "met %",
    "outside_percent": "outside %",
    "lower_cm": "legs cm",
}

Solve = Callable[[Targets], Pose]


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run everything; 1 where a target is missed."""
    parser = Options(__doc__, poses=20)
    parser.add_mocap()
    parser.add_argument(
        "--poses-file", help="file of `ambulo ik extract` instead of --data"
    )
    parser.add_argument("--network", default="ik_net", help="folder or name")
    parser.add_argument(
        "--published", nargs="*", default=[], metavar="FOLDER",
        help="published networks, of train_neural_ik --network published or compact",
    )  # fmt: skip
    parser.add_argument("--poses", type=int, default=4000, help="test poses")
    args = parser.read(argv)
    network = load_ik_network(args.network)
    rig, config = network.rig, IKRunConfig()
    data = load_poses(args.poses_file) if args.poses_file else poses_of(args.data, rig)
    people: dict[str, list[str]] = network.header.extra["people"]
    parts = _parts(data, rig, people, config)
    test = parts["test"]
    rows = np.unique(np.linspace(0, len(test) - 1, args.poses).astype(np.int64))
    results: dict[str, Any] = {
        "people": people,
        "poses": len(rows),
        "parameters": network.parameters,
        "rows": {},
    }
    for mask, names in MASKS.items():
        solvers: dict[str, Solve] = {
            "no network, 10 steps": _solver(NeuralIKSolver(rig, far_steps=10)),
            "no network, 15 steps": _solver(NeuralIKSolver(rig, far_steps=15)),
            "network alone": network.predict,
            "network + 2 steps": _solver(NeuralIKSolver(rig, network, steps=2)),
            "network + 3 steps": _solver(NeuralIKSolver(rig, network, steps=3)),
            "network + 4 steps": _solver(NeuralIKSolver(rig, network, steps=4)),
        }
        if mask == "trackers":
            solvers |= _learnt(parts, names)
        if mask == "all":
            solvers |= _published(args.published, people, test.context(rows))
        truth, targets = test.pose(rows), test.targets(rows, names)
        told = ", ".join(n for n in TARGETS if n in names)
        print(f"\n{len(rows)} poses of {', '.join(people['test'])}; targets: {told}")
        print(f"{'':30}" + "".join(f"{head:>12}" for head in COLUMNS.values()))
        for name, solve in solvers.items():
            found = asdict(score(rig, targets, solve(targets), truth))
            results["rows"][f"{mask}: {name}"] = found
            print(f"{name:30}" + "".join(f"{found[c]:12.3f}" for c in COLUMNS))
    results["targets"] = _judged(results["rows"])
    print()
    for row in results["targets"]:
        verdict = "ok    " if row["met"] else "MISSED"
        print(f"{verdict} {row['what']}: {row['value']:.3f} (wanted {row['wanted']})")
    write(results, args)
    missed = not all(row["met"] for row in results["targets"])
    return exit_code(missed, args)


def poses_of(folder: Path, rig: Rig) -> PoseData:
    """The poses of all clips below a folder, as `ambulo ik extract` makes them."""
    clips, _ = scan_clips([str(folder)], check=False)
    return extract(clips, rig).data


def _parts(
    data: PoseData, rig: Rig, people: dict[str, list[str]], config: IKRunConfig
) -> dict[str, Poses]:
    """The poses of training, validation and test people."""
    return {
        name: Poses(
            data[np.isin(data.subjects, who)], rig, config, mirror=name == "train"
        )
        for name, who in people.items()
    }


def _solver(solver: NeuralIKSolver) -> Solve:
    return lambda targets: solver.solve(targets).pose


def _published(
    folders: Sequence[str], people: dict[str, list[str]], context: Context
) -> dict[str, Solve]:
    """The published networks, alone and refined."""
    found: dict[str, Solve] = {}
    for folder in folders:
        network = load_ik_network(folder)
        seen = network.header.extra["people"]["train"]
        if set(seen) & set(people["test"]):
            raise SystemExit(f"{folder}: was trained on people of the test")

        def alone(targets: Targets, network: IKNetwork = network) -> Pose:
            return network.predict(targets, context)

        def refined(targets: Targets, network: IKNetwork = network) -> Pose:
            start = network.predict(targets, context)
            return refine(network.rig, targets, start, 3).pose

        kind = network.header.kind
        found |= {f"{kind} alone": alone, f"{kind} + 3 steps": refined}
    return found


def _learnt(parts: dict[str, Poses], names: Sequence[str]) -> dict[str, Solve]:
    """Nearest neighbour and ridge regression on the training people."""
    rig = parts["train"].rig
    inputs, outputs = examples(parts["train"], names)
    check = parts["validation"]
    every: NDArray[np.int64] = np.arange(len(check))
    truth, targets = check.pose(every), check.targets(every, names)

    def error(model: Ridge) -> float:
        found = answer(rig, model, targets)
        return score(rig, targets, found, truth).mpjpe_cm

    ridges = [Ridge(inputs, outputs, penalty) for penalty in PENALTIES]
    models = {
        "nearest neighbour": NearestPose(inputs, outputs),
        "ridge regression": min(ridges, key=error),
    }
    return {
        name: lambda targets, model=model: answer(rig, model, targets)
        for name, model in models.items()
    }


def _judged(rows: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """What was wanted, and what came out."""
    raw, fine = rows["all: network alone"], rows["all: network + 3 steps"]
    plain = rows["all: no network, 15 steps"]
    trackers = rows["trackers: network + 3 steps"]
    wanted = [
        ("all targets met after 3 steps, %", fine["met_percent"], ">=", 99.9),
        ("outside the limits after 3 steps, %", fine["outside_percent"], "<=", 0.0),
        ("network alone, distance to targets, cm", raw["position_cm"], "<=", 3.0),
        ("network alone, angle to targets, deg", raw["rotation_deg"], "<=", 8.0),
        ("joints without target, cm", fine["free_cm"], "<=", 2.5),
        ("the same over that without a network", fine["free_cm"] / plain["free_cm"], "<=", 0.6),
        ("three trackers, MPJPE, cm", trackers["mpjpe_cm"], "<=", 5.0),
    ]  # fmt: skip
    return [
        {
            "what": what,
            "value": value,
            "wanted": f"{sign} {limit:g}",
            "met": value >= limit if sign == ">=" else value <= limit,
        }
        for what, value, sign, limit in wanted
    ]


if __name__ == "__main__":
    sys.exit(main())
