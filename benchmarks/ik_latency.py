"""How long full-body poses take on one core: alone, in batches, through the pool, beside mink.

Real poses: captured clips on `ik23`, clamped into the rig's limits, every `--every`-th frame of
30 Hz. Targets: five effectors and the hips, position and rotation. Times are of whole calls
from Python, one after the other, compiled before; a run beside other work shows in the 99 %.

`pool` is the time from handing in the targets of `--characters` until their poses are here,
frame after frame. mink, where it is installed (`pip install mink daqp`), has no limits of ball
joints, so that it solves the easier problem.

    OMP_NUM_THREADS=1 python benchmarks/ik_latency.py
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from _harness import CMU, run, spread, timed

from ambulo.ik.limits import clamp, violation
from ambulo.ik.pool.workers import NeuralIKPool
from ambulo.ik.pose import Pose, fk
from ambulo.ik.rig import Rig
from ambulo.ik.solver.features import network_input
from ambulo.ik.solver.network import IKNetwork, load_ik_network
from ambulo.ik.solver.refine import RefineConfig, Solution, refine
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets
from ambulo.motion.formats.files import read_motion
from ambulo.motion.operations import resample
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.rotations import quat_multiply

BATCH = 64
NEAR, ALIGNED = 1e-3, np.deg2rad(0.5)
"""A target is met within these, [m] and [rad]."""
MINK_STEPS = 4


def real_poses(rig: Rig, data: Path, every: int, most: int) -> Pose:
    """Every `every`-th pose of at most `most` clips below `data`, inside the limits."""
    clips = [
        retarget(resample(read_motion(path), 30.0), rig.skeleton).motion
        for path in sorted(data.rglob("*.amc"))[:most]
    ]
    roots = np.concatenate([clip.root_positions[::every] for clip in clips])
    turns = np.concatenate([clip.rotations[::every] for clip in clips])
    return Pose(roots, clamp(rig, turns))


def free_joints(rig: Rig) -> list[int]:
    """Joints without a target; toes do not count."""
    names = rig.skeleton.joints
    return [
        j for j in range(len(rig)) if j not in rig.effectors and "Toe" not in names[j]
    ]


def score(rig: Rig, truth: Pose, found: Solution) -> dict[str, float]:
    """Errors of a solution against the true poses."""
    apart = np.linalg.norm(fk(rig, found.pose)[0] - fk(rig, truth)[0], axis=-1)
    beyond = violation(rig, found.pose.rotations) > 0.0
    return {
        "met_percent": 100.0 * float(found.reached.all(axis=1).mean()),
        "outside_percent": 100.0 * float(beyond.any(axis=1).mean()),
        "free_cm": 100.0 * float(apart[:, free_joints(rig)].mean()),
        "steps_mean": float(found.steps.mean()),
    }


def times_of(network: IKNetwork, targets: Targets, calls: int) -> dict[str, Any]:
    """Times of a pose in each way, [us]."""
    rig, count = network.rig, len(targets)
    single = [targets[i : i + 1] for i in range(min(count, calls))]
    batches = [targets[i : i + BATCH] for i in range(0, max(1, count - BATCH), BATCH)]
    batches = batches[: max(1, calls // 20)]
    inputs = [network_input(rig, one) for one in single]
    exact = RefineConfig(stop=1e-12, extra=0)  # and no second tries: `bends`
    three = NeuralIKSolver(rig, network, steps=3, config=exact, bends=())
    solver, plain = NeuralIKSolver(rig, network), NeuralIKSolver(rig)
    count = len(single)
    return {
        "network": timed(lambda i: network.forward(inputs[i]), count),
        "network, targets to pose": timed(lambda i: network.predict(single[i]), count),
        "network + 3 steps": timed(lambda i: three.solve(single[i]), count),
        "solve": timed(lambda i: solver.solve(single[i]), count),
        f"solve, batch of {BATCH}, each": timed(
            lambda i: solver.solve(batches[i]), len(batches), BATCH
        ),
        "no network, up to 15 steps": timed(lambda i: plain.solve(single[i]), count),
    }


def pool_times(
    network: IKNetwork, targets: Targets, characters: int, frames: int, workers: int
) -> dict[str, Any]:
    """Times of a frame through the pool, and in this process, [us]."""
    starts = np.linspace(0, len(targets), characters, endpoint=False).astype(np.int64)
    jobs = [targets[(starts + k) % len(targets)] for k in range(frames)]
    alone = NeuralIKSolver(network.rig, network, steps=3)
    inside: list[float] = []
    with NeuralIKPool(workers=workers, steps=3) as pool:
        pool.cache(network)
        through = timed(lambda i: inside.append(pool.solve(jobs[i]).solve_us), frames)
    return {
        "pool": through,
        "of it in the workers": spread(inside),
        "in this process": timed(lambda i: alone.solve(jobs[i]), frames),
    }


def mink_rows(
    rig: Rig, truth: Pose, start: Pose
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Times of mink, [us], and the errors that its steps leave."""
    import mink

    skeleton, spec = rig.skeleton, mujoco.MjSpec()
    bodies = [spec.worldbody]
    for j, name in enumerate(skeleton.joints):
        body = bodies[skeleton.parents[j] + 1].add_body(
            name=name, pos=skeleton.offsets[j] if j else np.zeros(3),
            quat=skeleton.rest[j] if j else [1, 0, 0, 0],
        )  # fmt: skip
        free, ball = mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL
        body.add_joint(type=ball if j else free)
        body.add_geom(size=[0.02, 0, 0], mass=0.1)
        bodies.append(body)
    configuration = mink.Configuration(spec.compile())
    tasks = [
        mink.FrameTask(skeleton.joints[j], "body", 1.0, 0.3) for j in rig.effectors
    ]
    posture = mink.PostureTask(configuration.model, cost=1e-3)
    targets, places = Targets.of_pose(rig, truth), fk(rig, truth)[0]
    ends = [j + 1 for j in rig.effectors]
    free_ends = [j + 1 for j in free_joints(rig)]
    times: list[float] = []
    met, off = np.zeros(MINK_STEPS), np.zeros(MINK_STEPS)
    for i in range(len(truth)):
        first = quat_multiply(skeleton.rest[0], start.rotations[i, 0])
        pose = np.concatenate([start.root[i], first, start.rotations[i, 1:].ravel()])
        configuration.update(pose)
        posture.set_target(pose)
        for row, task in enumerate(tasks):
            turn = mink.SO3(targets.rotations[i, row])
            at = targets.positions[i, row]
            task.set_target(mink.SE3.from_rotation_and_translation(turn, at))
        for step in range(MINK_STEPS):
            begin = time.perf_counter_ns()
            velocity = mink.solve_ik(
                configuration, [*tasks, posture], 1.0, "daqp", damping=1e-6, limits=[]
            )
            configuration.integrate_inplace(velocity, 1.0)
            times.append((time.perf_counter_ns() - begin) / 1e3)
            data = configuration.data
            far = np.linalg.norm(data.xpos[ends] - targets.positions[i], axis=1)
            dots = np.abs(np.sum(data.xquat[ends] * targets.rotations[i], axis=1))
            angles = 2.0 * np.arccos(np.minimum(dots, 1.0))
            met[step] += far.max() < NEAR and angles.max() < ALIGNED
            true = places[i, free_joints(rig)]
            off[step] += np.linalg.norm(data.xpos[free_ends] - true, axis=1).mean()
    steps = {
        f"mink, {k + 1} steps": {
            "met_percent": 100.0 * met[k] / len(truth),
            "free_cm": 100.0 * off[k] / len(truth),
        }
        for k in range(MINK_STEPS)
    }
    return {"mink, one step": spread(times)}, steps


def measure(
    data: Path = CMU / "asfamc",
    network: str = "ik_net",
    clips: int = 40,
    every: int = 4,
    calls: int = 2000,
    characters: int = 8,
    workers: int = 2,
) -> dict[str, Any]:
    """Times, and scores of poses from the network's starts."""
    net = load_ik_network(network)
    rig = net.rig
    truth = real_poses(rig, data, every, clips)
    targets = Targets.of_pose(rig, truth)
    start = net.predict(targets)
    times = times_of(net, targets, calls)
    frame = pool_times(net, targets, characters, calls, workers)
    scores = {
        f"network + {n} steps": score(
            rig, truth, refine(rig, targets, start, n, RefineConfig(extra=0))
        )
        for n in (1, 2, 3, 4)
    }
    scores["solve"] = score(rig, truth, NeuralIKSolver(rig, net).solve(targets))
    scores["no network"] = score(rig, truth, NeuralIKSolver(rig).solve(targets))
    if find_spec("mink"):
        some = np.linspace(0, len(truth), calls // 4, endpoint=False).astype(np.int64)
        more, steps = mink_rows(rig, truth[some], start[some])
        times, scores = times | more, scores | steps
    return {
        "poses": len(truth),
        "microseconds": times,
        f"microseconds of a frame with {characters} characters": frame,
        "scores": scores,
    }


if __name__ == "__main__":
    run(measure, {"clips": 1, "calls": 8, "characters": 2})
