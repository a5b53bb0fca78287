"""`ambulo eval` of muscle networks: torques in random poses, beside the exact solver."""

from __future__ import annotations

import numpy as np

from ambulo.common.gl import import_mujoco
from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ModelFileError
from ambulo.envs.characters.registry import load_character
from ambulo.evaluate.shared.intervals import bootstrap_interval
from ambulo.evaluate.shared.kind import EvalOutcome, EvalRequest
from ambulo.evaluate.shared.result import POLICY, Metric, MetricColumn, metric
from ambulo.muscle.muscle_nn import load_muscle_nn
from ambulo.muscle.muscles import MuscleLayer
from ambulo.muscle.sampling import feasible_targets, sample_muscles
from ambulo.muscle.solver import descend, solve

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
    network = load_muscle_nn(file)
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
    activations: dict[str, Floats] = {
        POLICY: network.activations(active, target, factors)
    }
    rest = np.zeros_like(optimum.activation)
    for name in request.baselines:
        if name == "exact":
            activations[name] = optimum.activation
        elif name == "descent":
            activations[name] = descend(active, target, sweeps=SWEEPS)
        else:
            activations[name] = rest
    squares = {
        name: np.square(np.einsum("bim,bm->bi", active, made) - target).mean(axis=1)
        for name, made in activations.items()
    }
    best = np.square(optimum.residual).mean(axis=1)
    size = np.square(target).mean(axis=1)
    effort = {n: np.square(made).mean(axis=1) for n, made in activations.items()}
    least = float(np.square(optimum.activation).mean())
    agents = {
        name: _metrics(row, effort[name], best, size, least, request.seed)
        for name, row in squares.items()
    }
    rows = [
        {
            "agent": name,
            "episode": k,
            "torque_error_rms": float(np.sqrt(square)),
            "torque_rms": float(np.sqrt(size[k])),
            "effort": float(effort[name][k]),
        }
        for name, row in squares.items()
        for k, square in enumerate(row)
    ]
    return EvalOutcome(
        request.result(
            agents,
            COLUMNS,
            f"feasible torques in {count} random poses of {CHARACTER}",
            headline=HEADLINE,
            rows=rows,
            details={"torque_rms": float(np.sqrt(size.mean()))},
            notes=[NOTE],
        )
    )


def _metrics(
    squares: Floats, effort: Floats, best: Floats, size: Floats, least: float, seed: int
) -> dict[str, Metric]:
    """Return the metrics of one agent from mean squares of each pose, (N,)."""
    rms, optimum, torque = (float(np.sqrt(v.mean())) for v in (squares, best, size))
    low, high = (np.sqrt(end) for end in bootstrap_interval(squares, seed))
    spent = float(effort.mean())
    return {
        "torque_error_rms": metric(rms, "N m", (float(low), float(high))),
        "relative_error": metric(rms / torque),
        "excess_error": metric((rms - optimum) / torque),
        "effort": metric(spent, ci=bootstrap_interval(effort, seed)),
        "effort_ratio": metric(spent / least),
    }
