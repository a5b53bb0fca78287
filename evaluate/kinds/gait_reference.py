"""References of gaits with their balance controller, which are not learned."""

from __future__ import annotations

from ambulo.evaluate.shared.eval_kind import EvalKind

KIND = EvalKind(
    kinds=("gait_reference",),
    name="gait reference",
    group="locomotion models",
    run="ambulo.evaluate.gait.policy_command:run_reference",
    episodes=48,
    flags=frozenset({"seconds", "push_episodes"}),
    baselines={"open_loop": "the reference and its torque, without balance controller"},
)
