"""mink on the rig, starts and targets of benchmarks/ik_latency.py, in one process.

Needs NumPy, mujoco and mink with daqp only, so that any Python may run it:

    python _ik_mink.py problem.npz

`problem.npz` holds the rig (`names`, `parents`, `offsets`, `rest`, `effectors`), starting
poses (`root`, `rotations`), targets (`positions`, `orientations`) and the true places of
all joints (`truth`). Prints one line of JSON. Ball joints have no limits in mink, so that
it solves the easier problem.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from typing import Any

import mink
import mujoco
import numpy as np

STEPS = 4
"""Steps from each starting pose."""
NEAR, ALIGNED = 1e-3, np.deg2rad(0.5)
"""A target is met within these, [m] and [rad]."""


def model_of(problem: dict[str, Any]) -> mujoco.MjModel:
    """The rig as a free root and ball joints."""
    spec = mujoco.MjSpec()
    bodies = [spec.worldbody]
    for j, name in enumerate(problem["names"]):
        parent = bodies[int(problem["parents"][j]) + 1]
        offset = np.zeros(3) if j == 0 else problem["offsets"][j]
        rest = [1, 0, 0, 0] if j == 0 else problem["rest"][j]
        body = parent.add_body(name=str(name), pos=offset, quat=rest)
        kind = mujoco.mjtJoint.mjJNT_FREE if j == 0 else mujoco.mjtJoint.mjJNT_BALL
        body.add_joint(type=kind)
        body.add_geom(size=[0.02, 0, 0], mass=0.1)
        bodies.append(body)
    return spec.compile()


def multiply(a: Any, b: Any) -> Any:
    """The product of two quaternions, wxyz."""
    out = np.empty(4)
    mujoco.mju_mulQuat(out, a, b)
    return out


def spread(values: list[float]) -> list[float]:
    """Median, 99 % and least."""
    return [float(np.median(values)), float(np.percentile(values, 99)), min(values)]


def main() -> int:
    """Measure and print."""
    with np.load(sys.argv[1]) as file:
        problem = {name: file[name] for name in file.files}
    configuration = mink.Configuration(model_of(problem))
    effectors = [int(j) for j in problem["effectors"]]
    names = [str(name) for name in problem["names"]]
    tasks = [mink.FrameTask(names[j], "body", 1.0, 0.3) for j in effectors]
    posture = mink.PostureTask(configuration.model, cost=1e-3)
    bodies = [j + 1 for j in effectors]
    others = [
        j + 1
        for j, name in enumerate(names)
        if j not in effectors and "Toe" not in name
    ]
    count = len(problem["root"])
    single: list[float] = []
    three: list[float] = []
    met, free = np.zeros(STEPS), np.zeros(STEPS)
    for i in range(count):
        turns = problem["rotations"][i]
        first = multiply(problem["rest"][0], turns[0])
        q = np.concatenate([problem["root"][i], first, turns[1:].ravel()])
        configuration.update(q)
        posture.set_target(q)
        for row, task in enumerate(tasks):
            turn = mink.SO3(problem["orientations"][i, row])
            place = problem["positions"][i, row]
            task.set_target(mink.SE3.from_rotation_and_translation(turn, place))
        whole = 0.0
        for step in range(STEPS):
            begin = time.perf_counter_ns()
            velocity = mink.solve_ik(
                configuration, [*tasks, posture], 1.0, "daqp", damping=1e-6, limits=[]
            )
            configuration.integrate_inplace(velocity, 1.0)
            taken = (time.perf_counter_ns() - begin) / 1e3
            single.append(taken)
            whole += taken
            if step == 2:
                three.append(whole)
            data = configuration.data
            far = np.linalg.norm(data.xpos[bodies] - problem["positions"][i], axis=1)
            dots = np.abs(np.sum(data.xquat[bodies] * problem["orientations"][i], 1))
            angles = 2.0 * np.arccos(np.minimum(dots, 1.0))
            met[step] += far.max() < NEAR and angles.max() < ALIGNED
            truth = problem["truth"][i, [b - 1 for b in others]]
            free[step] += np.linalg.norm(data.xpos[others] - truth, axis=1).mean()
    print(
        json.dumps(
            {
                "version": version("mink"),
                "mujoco": mujoco.__version__,
                "poses": count,
                "step_us": spread(single),
                "three_steps_us": spread(three),
                "all_met_percent": (100.0 * met / count).tolist(),
                "free_joints_cm": (100.0 * free / count).tolist(),
            }
        )
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
