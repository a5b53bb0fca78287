"""How fast bodies move while a hand reaches: layers of IK beside a solver begun anew.

The right hand of a standing body reaches for 84 places, from the floor to over the head, in
0.6 s along the arc of `Reach`, at 240 ticks a second. A body whose poses jump has joints
that are much faster than the hand.

    python benchmarks/ik_jumps.py
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from _harness import run

from ambulo.ik.actions.action import acting
from ambulo.ik.actions.hands import Reach
from ambulo.ik.actions.standing import standing_pose
from ambulo.ik.layers.layer import LayerKind, PoseLayer
from ambulo.ik.layers.stack import LayerStack, Solve
from ambulo.ik.pose import Pose, fk
from ambulo.ik.rig import Rig, load_rig
from ambulo.ik.solver.refine import Solution
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets

AHEAD, ASIDE = (0.2, 0.35, 0.5, 0.65), (-0.5, -0.2, 0.1)
HEIGHTS = (0.05, 0.3, 0.6, 0.9, 1.3, 1.7, 2.0)
"""Places of the hand, [m]: every combination."""
RATE, SECONDS = 240, 0.75
FAST = 9.0
"""A joint that is faster jumps, [m/s]: the hands of people reach with 2 to 4."""


def fastest(rig: Rig, place: Sequence[float], solve: Solve) -> tuple[float, bool]:
    """Speed of the fastest joint, [m/s], and whether the place was reached in the end."""
    standing = standing_pose(rig)
    stack = LayerStack(rig, lambda tick: standing, solve=solve)
    provider = acting([Reach("RightHand", place)])
    stack.add(PoseLayer("reach", LayerKind.IK, provider, fade_in=0.0), 0.0)
    frames = [stack.tick(i / RATE) for i in range(round(SECONDS * RATE))]
    places = np.stack([fk(rig, frame.pose)[0][0] for frame in frames])
    speed = RATE * np.linalg.norm(np.diff(places, axis=0), axis=-1).max()
    solution = frames[-1].solution
    return float(speed), solution is not None and bool(solution.reached.all())


def measure(every: int = 1) -> dict[str, Any]:
    """Measure every `every`-th place, by layers and by a solver without warm start."""
    rig = load_rig()
    solver, standing = NeuralIKSolver(rig), standing_pose(rig)

    def anew(targets: Targets, start: Pose) -> Solution:
        return solver.solve(targets, standing)

    places = [*itertools.product(AHEAD, ASIDE, HEIGHTS)][::every]
    rows = {}
    for name, solve in (("layers", solver.solve), ("begun anew in each tick", anew)):
        found = [fastest(rig, place, solve) for place in places]
        speeds = np.array([speed for speed, _ in found])
        rows[name] = {
            "median_m_s": float(np.median(speeds)),
            "p90_m_s": float(np.quantile(speeds, 0.9)),
            "most_m_s": float(speeds.max()),
            "jump": int((speeds > FAST).sum()),
            "reached": sum(reached for _, reached in found),
        }
    return {"places": len(places), "rows": rows}


if __name__ == "__main__":
    run(measure, {"every": 20})
