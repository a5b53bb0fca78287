"""Policies and cascades that walk with bodies of many parameters."""

from __future__ import annotations

from ambulo.evaluate.shared.eval_kind import EvalKind

KIND = EvalKind(
    kinds=("gait_policy", "ambulo-cascade"),
    name="gait policy",
    group="locomotion models",
    run="ambulo.evaluate.gait.policy_command:run",
    episodes=48,
    flags=frozenset({"stochastic", "num_envs", "seconds", "push_episodes"}),
    baselines="ambulo.evaluate.gait.policy_command:BASELINES",
)
