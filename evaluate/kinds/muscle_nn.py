"""Networks that give muscle activations for torques."""

from __future__ import annotations

from ambulo.evaluate.shared.eval_kind import EvalKind

KIND = EvalKind(
    kinds=("muscle_nn", "muscle_training"),
    name="muscle network",
    group="muscle networks",
    run="ambulo.evaluate.muscle.command:run",
    episodes=1000,
    baselines={
        "exact": "the optimum of the bounded least squares problem",
        "descent": "six sweeps of coordinate descent from rest",
        "rest": "no activation at all",
    },
)
