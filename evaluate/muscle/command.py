"""`ambulo eval` of muscle networks: torques in random poses, beside the exact solver."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ambulo.common.gl import import_mujoco
from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ModelFileError
from ambulo.envs.characters.registry import load_character
from ambulo.evaluate.shared.intervals import bootstrap_interval
from ambulo.evaluate.shared.kind import EvalOutcome, EvalRequest
from ambulo.evaluate.shared.result import (
    POLICY,
    AgentMetrics,
    MetricColumn,
    episode_rows,
    mean_metric,
    metric,
)
from ambulo.muscle.muscle_nn import MuscleNN
from ambulo.muscle.muscles import MuscleLayer
from ambulo.muscle.sampling import feasible_targets, sample_muscles
from ambulo.muscle.solver import descend, solve
from ambulo.policies.registry import load_file

CHARACTER = "myolegs"
"""Body whose muscles the networks know."""
SWEEPS = 6
"""Sweeps of coordinate descent."""
COLUMNS = (
    MetricColumn("torque_error_rms", "torque error", 3),
    MetricColumn("relative_error", "error / torque", 2, percent=True),
    MetricColumn("excess_error", "beyond the optimum", 2, percent=True),
    MetricColumn("effort", "mean squared activation", 4),
    MetricColumn("effort_ratio", "effort / optimum", 2),
)
HEADLINE = ("torque_error_rms", "relative_error", "excess_error", "effort_ratio")
NOTE = (
    "Torques that some activation makes, in random poses within the joint limits. Torque "
    "error: root mean square over joints and poses. The exact solver weighs error against "
    "effort, so its error is not 0."
)


def run(request: EvalRequest) -> EvalOutcome:
    """Ask the network and the solvers for the same torques."""
    import_mujoco()
    count, file = request.episodes, request.model_file
    network: MuscleNN = load_file(file)
    layer = MuscleLayer(load_character(CHARACTER).model)
    if network.muscles != layer.table.names:
        raise ModelFileError(f"{file}: its muscles are not those of {CHARACTER}")
    rng = np.random.default_rng([request.seed, 20_001])
    samples = sample_muscles(
        layer, count, rng, pattern=network.pattern,
        weakness=network.config.weakness, shortness=network.config.shortness,
    )  # fmt: skip
    target, active = feasible_targets(samples, rng), samples.active
    factors = samples.groups if network.scales.conditioned else None
    optimum = solve(active, target)
    made: dict[str, Callable[[], Floats]] = {
        POLICY: lambda: network.activations(active, target, factors),
        "exact": lambda: optimum.activation,
        "descent": lambda: descend(active, target, sweeps=SWEEPS),
        "rest": lambda: np.zeros_like(optimum.activation),
    }
    activations = {name: made[name]() for name in (POLICY, *request.baselines)}
    squares = {
        name: np.square(np.einsum("bim,bm->bi", active, values) - target).mean(axis=1)
        for name, values in activations.items()
    }
    best = np.square(optimum.residual).mean(axis=1)
    size = np.square(target).mean(axis=1)
    effort = {n: np.square(values).mean(axis=1) for n, values in activations.items()}
    least = float(np.square(optimum.activation).mean())
    agents = {
        name: _metrics(row, effort[name], best, size, least, request.seed)
        for name, row in squares.items()
    }
    torque_rms = np.sqrt(size)
    rows = {
        name: [
            {
                "torque_error_rms": float(np.sqrt(square)),
                "torque_rms": float(torque),
                "effort": float(spent),
            }
            for square, torque, spent in zip(row, torque_rms, effort[name], strict=True)
        ]
        for name, row in squares.items()
    }
    return EvalOutcome(
        request.result(
            agents,
            COLUMNS,
            f"feasible torques in {count} random poses of {CHARACTER}",
            headline=HEADLINE,
            rows=episode_rows(rows),
            details={"torque_rms": float(np.sqrt(size.mean()))},
            notes=[NOTE],
        )
    )


def _metrics(
    squares: Floats, effort: Floats, best: Floats, size: Floats, least: float, seed: int
) -> AgentMetrics:
    """Return the metrics of one agent from mean squares of each pose, (N,)."""
    rms, optimum, torque = (float(np.sqrt(v.mean())) for v in (squares, best, size))
    low, high = (np.sqrt(end) for end in bootstrap_interval(squares, seed))
    return {
        "torque_error_rms": metric(rms, "N m", (float(low), float(high))),
        "relative_error": metric(rms / torque),
        "excess_error": metric((rms - optimum) / torque),
        "effort": mean_metric(effort, seed),
        "effort_ratio": metric(float(effort.mean()) / least),
    }
