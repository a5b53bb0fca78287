"""`ambulo eval` of pose networks: targets of poses that are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ModelFileError
from ambulo.evaluate.ik.scores import MASKS, PoseErrors, pose_errors
from ambulo.evaluate.shared.kind import EvalOutcome, EvalRequest
from ambulo.evaluate.shared.result import (
    POLICY,
    Breakdown,
    MetricColumn,
    measured,
)
from ambulo.ik.data.pose_data import PoseData, load_poses
from ambulo.ik.limits import clamp
from ambulo.ik.pose import Pose, pose_of, start_pose
from ambulo.ik.rig import Rig
from ambulo.ik.solver.features import root_frame
from ambulo.ik.solver.network import IKNetwork, load_ik_network
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets
from ambulo.motion.gaits.generated_walks import SOURCE, generated_walks
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply

STEPS, FAR_STEPS = 3, 15
"""Refinement steps from the network's pose, and from the rig's starting pose."""
WALK_FPS, WALK_SECONDS = 30.0, 4.0
"""Rate, [Hz], and length, [s], of generated walks."""
JITTER = 0.3
"""Largest standard deviation of the turns of a random pose about each axis, [rad]."""
COLUMNS = (
    MetricColumn("mpjpe_cm", "MPJPE"),
    MetricColumn("mpjre_deg", "MPJRE"),
    MetricColumn("free_cm", "free joints"),
    MetricColumn("position_cm", "target position", 3),
    MetricColumn("rotation_deg", "target rotation", 3),
    MetricColumn("met_rate", "targets met", 1, percent=True),
    MetricColumn("outside_rate", "outside limits", 1, percent=True),
)
HEADLINE = ("mpjpe_cm", "position_cm", "rotation_deg", "met_rate", "outside_rate")
NOTE = (
    "MPJPE, MPJRE: mean distance and angle of all joints from the true pose, which targets "
    "of few joints do not determine. Free joints: those without a target. Met: every "
    "target within 1 mm and 0.5 deg. Outside: a joint beyond its limits by 0.01 deg. "
    "Random poses are turned about the rig's starting pose, where no_network begins."
)

Solve = Callable[[Targets], Pose]


@dataclass(frozen=True)
class KnownPoses:
    """Poses to find again from their targets, N of them."""

    name: str
    """Name in reports."""
    pose: Pose
    """In the world."""


def run(request: EvalRequest) -> EvalOutcome:
    """Solve the same targets with the network and the baselines."""
    network = load_ik_network(request.model_file.parent)
    rig, data = network.rig, request.args.data
    if data:
        sets = [_captured(network, str(folder), request) for folder in data]
    else:
        sets = [
            _walks(rig, request.episodes, request.seed),
            _random(rig, request.episodes, request.seed),
        ]
    solvers = {n: _solver(n, network) for n in (POLICY, *request.baselines)}
    errors: dict[str, dict[str, PoseErrors]] = {}
    for known in sets:
        for mask in MASKS:
            targets = Targets.of_pose(rig, known.pose).only(*MASKS[mask])
            errors[f"{known.name}; {_TARGETS[mask]}"] = {
                name: pose_errors(rig, targets, solve(targets), known.pose)
                for name, solve in solvers.items()
            }
    cases = {
        case: {n: measured(COLUMNS, row, request.seed) for n, row in agents.items()}
        for case, agents in errors.items()
    }
    first = next(iter(cases))
    about = "" if data else " (no poses of people: give --data)"
    return EvalOutcome(
        request.result(
            cases[first],
            COLUMNS,
            f"{len(sets[0].pose)} {first}{about}",
            kind="ik_network",
            episodes=len(sets[0].pose),
            headline=HEADLINE,
            breakdowns=[
                Breakdown(
                    "case", {c: a for c, a in cases.items() if c != first}, COLUMNS
                )
            ],
            rows=list(_rows(errors)),
            notes=[NOTE],
        )
    )


_TARGETS = {
    "all": "targets: head, hands, feet, hips",
    "effectors": "targets: head, hands, feet",
    "trackers": "targets: head and hands",
}


def _solver(name: str, network: IKNetwork) -> Solve:
    rig = network.rig
    if name == "start_pose":

        def start(targets: Targets) -> Pose:
            origin, yaw = root_frame(rig, targets)
            return start_pose(rig, origin[:, :2], yaw)

        return start
    if name == "network_alone":
        return network.predict
    if name == "no_network":
        far = NeuralIKSolver(rig, far_steps=FAR_STEPS)
        return lambda targets: far.solve(targets).pose
    solver = NeuralIKSolver(rig, network, steps=STEPS)
    return lambda targets: solver.solve(targets).pose


def _walks(rig: Rig, count: int, seed: int) -> KnownPoses:
    """Return frames of generated walks."""
    roots, rotations = [], []
    rng = np.random.default_rng([seed, 7])
    walks = generated_walks(WALK_FPS, WALK_SECONDS)
    for number, motion in enumerate(walks):
        pose = pose_of(retarget(motion, rig.skeleton).motion, rig)
        pose = Pose(pose.root, clamp(rig, pose.rotations))
        share = count // len(walks) + (number < count % len(walks))
        frames = rng.integers(len(motion) // 2, len(motion), share)
        roots.append(pose.root[frames])
        rotations.append(pose.rotations[frames])
    whole = Pose(np.concatenate(roots), np.concatenate(rotations))
    return KnownPoses(f"poses of {SOURCE}", whole)


def _random(rig: Rig, count: int, seed: int) -> KnownPoses:
    """Return poses with joints turned at random inside their limits: all are reachable."""
    rng = np.random.default_rng([seed, 8])
    pose = start_pose(rig, np.zeros((count, 2)), rng.uniform(-np.pi, np.pi, count))
    turns = (
        JITTER * rng.random((count, 1, 1)) * rng.standard_normal((count, len(rig), 3))
    )
    rotations = clamp(rig, quat_multiply(pose.rotations, quat_from_rotvec(turns)))
    return KnownPoses("random reachable poses", Pose(pose.root, rotations))


def _captured(network: IKNetwork, name: str, request: EvalRequest) -> KnownPoses:
    """Return poses of a network's test, people or recordings, of `ambulo ik extract`."""
    data = load_poses(resolve_path(name))
    people: Mapping[str, list[str]] = network.header.extra.get("people", {})
    clips: Mapping[str, list[str]] = network.header.extra.get("clips", {})
    tested = clips.get("test") or people.get("test", [])
    part: PoseData = (
        data.of_clips(tested) if clips else data[np.isin(data.subjects, tested)]
    )
    if not len(part):
        raise ModelFileError(
            f"{name}: no poses of {', '.join(tested) or 'test people'}"
        )
    chosen = np.unique(np.linspace(0, len(part) - 1, request.episodes).astype(np.int64))
    about = f"poses of {', '.join(tested)}, not trained on"
    root, rotations = (
        values[chosen].astype(np.float64) for values in (part.root, part.rotations)
    )
    return KnownPoses(about, Pose(root, rotations))


def _rows(errors: Mapping[str, Mapping[str, PoseErrors]]) -> Iterator[dict[str, Any]]:
    """Yield one row per case, agent and pose."""
    for case, agents in errors.items():
        for agent, row in agents.items():
            known = {c.name: row[c.name] for c in COLUMNS if len(row[c.name])}
            for k in range(len(row["mpjpe_cm"])):
                numbers = {name: float(values[k]) for name, values in known.items()}
                yield {"case": case, "agent": agent, "episode": k, **numbers}
