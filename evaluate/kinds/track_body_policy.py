"""Policies of bodies that follow a player's trackers."""

from __future__ import annotations

from ambulo.evaluate.shared.eval_kind import EvalKind

KIND = EvalKind(
    kinds=("track_body_policy",),
    name="body that follows trackers",
    group="bodies that follow trackers",
    run="ambulo.evaluate.tracking.body_command:run",
    episodes=0,
    flags=frozenset({"clips", "points", "stochastic", "seconds"}),
    baselines="ambulo.evaluate.tracking.body_agents:BASELINES",
)
