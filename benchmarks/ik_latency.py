"""How long a full-body pose takes, on one core, beside mink on the same rig and targets.

Real poses: CMU clips below `--data`, retargeted to `ik23`, clamped into the rig's limits
(their share and size are reported: that defines which targets are reachable), every
`--every`-th frame of 30 Hz. Targets: five effectors and the hips, position and rotation.

Starting poses are those of `--network` (a folder or a name), or, without one, the true
poses with every joint turned at random by `--noise` rad: then the network's time is that of
random weights of the sizes that are trained, and only its answer is replaced.

    OMP_NUM_THREADS=1 python benchmarks/ik_latency.py --data ../shared/data/cmu

Times are of whole calls from Python, one after the other, compiled before; median, 99 %
and the fastest. A run beside other work shows in the 99 %. mink is measured in the same
run, in a process of its own; it has no limits of ball joints, so that it solves the easier
problem. It may live in an environment of its own:

    python -m venv .venv-mink && .venv-mink/bin/pip install mink daqp
    python benchmarks/ik_latency.py ... --mink-python .venv-mink/bin/python
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Options, print_rows, timed, write

from ambulo.ik.limits import clamp, violation
from ambulo.ik.pose import Pose, fk, start_pose
from ambulo.ik.rig import Rig, load_rig
from ambulo.ik.solver.features import (
    INPUTS,
    mean_output,
    network_input,
    outputs_of,
    root_frame,
)
from ambulo.ik.solver.headers import IKNetworkHeader
from ambulo.ik.solver.network import IKNetwork, load_ik_network
from ambulo.ik.solver.published import Context
from ambulo.ik.solver.refine import RefineConfig, Solution, refine
from ambulo.ik.solver.solver import FAR_SLACK, NeuralIKSolver
from ambulo.ik.solver.targets import Targets
from ambulo.motion.formats.files import read_motion
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply

BATCH = 64
INSTALL = "pip install mink daqp, or --mink-python with a Python that has them"
SIZES = ((256, 256, 128), (512, 512, 512))


class StandIn(IKNetwork):
    """A network of random weights whose answer is replaced after it was computed."""

    answer: Pose

    def predict(self, targets: Targets, context: Context | None = None) -> Pose:
        """The prepared answer, in fresh arrays as `IKNetwork.predict` gives."""
        super().predict(targets, context)
        return Pose(self.answer.root.copy(), self.answer.rotations.copy())


def random_network(rig: Rig, hidden: tuple[int, ...]) -> StandIn:
    """Random weights of a trained network's sizes."""
    rng = np.random.default_rng(0)
    sizes = (INPUTS, *hidden, outputs_of(rig))
    tensors = {"mean": mean_output(rig).astype(np.float32)}
    for layer, (n, m) in enumerate(pairwise(sizes)):
        weights = rng.normal(size=(m, n)) / np.sqrt(n) * 0.1
        tensors[f"layers.{layer}.weight"] = weights.astype(np.float32)
        tensors[f"layers.{layer}.bias"] = np.zeros(m, dtype=np.float32)
    return StandIn(IKNetworkHeader(hidden=hidden), tensors, rig=rig)


def clips_on(rig: Rig, data: Path, most: int) -> list[Motion]:
    """The first `most` AMC clips below `data`, on the skeleton of `rig`, at 30 Hz."""
    return [
        retarget(resample(read_motion(path), 30.0), rig.skeleton).motion
        for path in sorted(data.rglob("*.amc"))[:most]
    ]


def real_poses(rig: Rig, data: Path, every: int, most: int) -> Pose:
    """Every `every`-th pose of at most `most` clips below `data`."""
    clips = clips_on(rig, data, most)
    return Pose(
        np.concatenate([clip.root_positions[::every] for clip in clips]),
        np.concatenate([clip.rotations[::every] for clip in clips]),
    )


def noisy(rig: Rig, pose: Pose, size: float) -> Pose:
    """`pose` with every joint turned at random by `size`, [rad], clamped."""
    rng = np.random.default_rng(1)
    turns = quat_from_rotvec(rng.normal(0.0, size, (len(pose), len(rig), 3)))
    return Pose(pose.root, clamp(rig, quat_multiply(pose.rotations, turns)))


def score(rig: Rig, truth: Pose, found: Solution) -> dict[str, float]:
    """What a solution is worth against the true poses."""
    where, _ = fk(rig, found.pose)
    true, _ = fk(rig, truth)
    distance = np.linalg.norm(where - true, axis=-1)
    free = [
        j
        for j, name in enumerate(rig.skeleton.joints)
        if j not in rig.effectors and "Toe" not in name
    ]
    return {
        "all_met_percent": 100.0 * float(found.reached.all(axis=1).mean()),
        "violating_percent": 100.0
        * float((violation(rig, found.pose.rotations) > 0.0).any(axis=1).mean()),
        "free_joints_cm": 100.0 * float(distance[:, free].mean()),
        "steps_mean": float(found.steps.mean()),
        "steps_99": float(np.percentile(found.steps, 99)),
    }


def mink_row(
    rig: Rig, truth: Pose, start: Pose, count: int, python: str
) -> dict[str, Any]:
    """What `_ik_mink.py` measures on `count` of the poses, run by `python`."""
    picked = np.linspace(0, len(truth), count, endpoint=False).astype(np.int64)
    truth, start = truth[picked], start[picked]
    targets = Targets.of_pose(rig, truth)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        np.savez(
            path,
            names=np.array(rig.skeleton.joints),
            parents=np.array(rig.skeleton.parents),
            offsets=rig.skeleton.offsets,
            rest=rig.skeleton.rest,
            effectors=np.array(rig.effectors),
            root=start.root,
            rotations=start.rotations,
            positions=targets.positions,
            orientations=targets.rotations,
            truth=fk(rig, truth)[0],
        )
        script = Path(__file__).with_name("_ik_mink.py")
        ran = subprocess.run(
            [python, str(script), str(path)],
            check=False,
            capture_output=True,
            text=True,
        )
    if ran.returncode:
        reason = (ran.stderr.strip().splitlines() or ["no output"])[-1]
        return {"missing": f"{python}: {reason}"}
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def add_mink(report: dict[str, Any], mink: dict[str, Any]) -> None:
    """Mink's rows beside ours, where it was measured."""
    report["mink"], rows, scores = mink, report["rows"], report["scores"]
    if "missing" in mink:
        return
    rows["mink, one step, no limits"] = mink["step_us"]
    rows["mink, 3 steps, no limits"] = mink["three_steps_us"]
    for step in range(4):
        scores[f"mink, {step + 1} steps, no limits"] = {
            "all_met_percent": mink["all_met_percent"][step],
            "violating_percent": float("nan"),
            "free_joints_cm": mink["free_joints_cm"][step],
            "steps_mean": step + 1.0,
            "steps_99": step + 1.0,
        }


def measure(args: argparse.Namespace) -> dict[str, Any]:  # noqa: PLR0915 - a row each
    """All that is reported, as plain JSON."""
    rig = load_rig()
    raw = real_poses(rig, args.data, args.every, args.clips)
    beyond = violation(rig, raw.rotations)
    truth = Pose(raw.root, clamp(rig, raw.rotations))
    targets = Targets.of_pose(rig, truth)
    count = len(truth)
    moved = np.linalg.norm(fk(rig, truth)[0] - fk(rig, raw)[0], axis=-1)
    report: dict[str, Any] = {
        "poses": count,
        "joints_inside_percent": 100.0 * float((beyond[:, 1:] == 0.0).mean()),
        "poses_inside_percent": 100.0 * float((beyond == 0.0).all(axis=1).mean()),
        "clamped_by_median_deg": float(np.rad2deg(np.median(beyond[beyond > 0.0]))),
        "clamping_moves_joints_cm_mean": 100.0 * float(moved.mean()),
        "rows": {},
    }
    start = noisy(rig, truth, args.noise)
    if args.network is not None:
        start = load_ik_network(args.network).predict(targets)
    turned = np.linalg.norm(fk(rig, start)[0] - fk(rig, truth)[0], axis=-1)
    report["start_off_cm_mean"] = 100.0 * float(turned.mean())
    single = [targets[i : i + 1] for i in range(min(count, args.calls))]
    batches = [targets[i : i + BATCH] for i in range(0, count - BATCH, BATCH)]
    batches = batches[: max(1, args.calls // 20)]
    rows = report["rows"]
    forced = RefineConfig(stop=1e-12, extra=0)  # and no second tries: `bends`
    for hidden in SIZES if args.network is None else ((),):
        network = (
            random_network(rig, hidden)
            if args.network is None
            else load_ik_network(args.network)
        )
        tag = "x".join(str(n) for n in network.header.hidden)
        inputs = [network_input(rig, one) for one in single]
        rows[f"network {tag}: forward"] = timed(
            lambda i, n=network, x=inputs: n.forward(x[i]), len(single)
        )
        rows[f"network {tag}: targets to pose"] = timed(
            lambda i, n=network: IKNetwork.predict(n, single[i]), len(single)
        )
        for name, config in (("3 steps", forced), ("solve", RefineConfig())):
            steps = 3 if name == "3 steps" else 4
            bends = () if name == "3 steps" else (0.1, 0.5)
            solver = NeuralIKSolver(
                rig, network, steps=steps, config=config, bends=bends
            )

            def one(i: int, solver: NeuralIKSolver = solver) -> Solution:
                if isinstance(solver.network, StandIn):
                    solver.network.answer = start[i : i + 1]
                return solver.solve(single[i])

            def many(i: int, solver: NeuralIKSolver = solver) -> Solution:
                if isinstance(solver.network, StandIn):
                    solver.network.answer = start[i * BATCH : (i + 1) * BATCH]
                return solver.solve(batches[i])

            rows[f"network {tag} + {name}"] = timed(one, len(single))
            rows[f"network {tag} + {name}, batch of {BATCH}, each"] = timed(
                many, len(batches), BATCH
            )
    plain = NeuralIKSolver(rig)
    rows["no network, up to 15 steps"] = timed(
        lambda i: plain.solve(single[i]), len(single)
    )
    scores = report["scores"] = {}
    for steps in (1, 2, 3, 4):
        found = refine(rig, targets, start, steps, RefineConfig(extra=0))
        scores[f"at most {steps} steps"] = score(rig, truth, found)
    scores["4 steps, 4 more where not met"] = score(
        rig, truth, refine(rig, targets, start)
    )
    if args.network is not None:
        solver = NeuralIKSolver(rig, load_ik_network(args.network))
        scores["solve"] = score(rig, truth, solver.solve(targets))
    scores["no network, solve"] = score(rig, truth, plain.solve(targets))
    origin, yaw = root_frame(rig, targets)
    far = RefineConfig(slack=FAR_SLACK)
    for steps in (10, 15):
        found = refine(rig, targets, start_pose(rig, origin[:, :2], yaw), steps, far)
        scores[f"no network, {steps} steps"] = score(rig, truth, found)
    few = min(count, args.calls // 4)
    add_mink(report, mink_row(rig, truth, start, few, args.mink_python))
    return report


def show(report: dict[str, Any]) -> None:
    """The report as tables."""
    for name, value in report.items():
        if name not in ("rows", "scores", "mink"):
            print(f"{name}: {value:g}")
    mink = report["mink"]
    if "missing" in mink:
        print(f"mink: not measured ({mink['missing']}); {INSTALL}")
    else:
        print("mink {version}, mujoco {mujoco}: {poses} poses".format(**mink))
    print_rows("one core, [us]", ("median", "99 %", "least"), report["rows"], ".1f")
    scores = {name: row.values() for name, row in report["scores"].items()}
    columns = next(iter(report["scores"].values()))
    print_rows("from these starts", columns, scores, ".3f")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = Options(__doc__, clips=1, calls=8)
    parser.add_mocap()
    parser.add_argument("--clips", type=int, default=40, help="most clips")
    parser.add_argument("--every", type=int, default=4, help="of frames at 30 Hz")
    parser.add_argument("--noise", type=float, default=0.04, help="of starts, [rad]")
    parser.add_argument("--calls", type=int, default=2000, help="single calls timed")
    parser.add_argument("--network", help="a trained network: folder or name")
    parser.add_argument(
        "--mink-python", default=sys.executable, help="a Python that has mink and daqp"
    )
    args = parser.read(argv)
    report = measure(args)
    show(report)
    write(report, args)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
