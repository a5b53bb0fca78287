"""Networks that solve poses from targets."""

from __future__ import annotations

from ambulo.evaluate.shared.eval_kind import EvalKind

KIND = EvalKind(
    kinds=("ik_network",),
    name="pose network",
    group="pose networks",
    run="ambulo.evaluate.ik.command:run",
    episodes=300,
    flags=frozenset({"data"}),
    baselines={
        "network_alone": "the network's poses without refinement",
        "no_network": "refinement from the rig's starting pose, up to 15 steps",
        "start_pose": "the rig's starting pose under the targets",
    },
)
