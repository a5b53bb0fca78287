"""`ambulo eval` of gait networks: walks of random parameters, and held-out gaits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ambulo.common.find_model import find_model
from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError
from ambulo.configs.gait import GaitSpace
from ambulo.configs.healthy_gait import HEALTHY
from ambulo.evaluate.gait.baselines import GaitPredictor, of_mean, of_ridge
from ambulo.evaluate.gait.curves import GaitFacts
from ambulo.evaluate.gait.estimator_command import parameter_breakdown, recovered_by
from ambulo.evaluate.gait.held_out import data_of, held_out_gaits
from ambulo.evaluate.gait.network_results import (
    HeldOut,
    flat,
    generated_facts,
    held_out,
    nominal_speed,
    random_gaits,
    scaled_facts,
    walks_of,
)
from ambulo.evaluate.gait.recovery import Recovery
from ambulo.evaluate.gait.report_figures import (
    COMPARISON,
    network_pictures,
    write_network_film,
)
from ambulo.evaluate.gait.scores import score
from ambulo.evaluate.shared.kind import EvalOutcome, EvalRequest
from ambulo.evaluate.shared.result import (
    POLICY,
    AgentMetrics,
    Breakdown,
    MetricColumn,
    episode_rows,
    measured,
    measured_groups,
)
from ambulo.motion.gaits.gait_sets import load_part
from ambulo.motion.gaits.skeleton import leg_length
from ambulo.policies.agents.gait_estimator import load_estimator
from ambulo.policies.agents.gait_network import GaitNetwork, load_gait_network

MAX_TRAIN = 4000
"""Gaits of the training part that baselines are fitted to, at most."""
WALK_COLUMNS = (
    MetricColumn("speed_error", "speed off", 1, percent=True),
    MetricColumn("stride_error", "stride off", 1, percent=True),
    MetricColumn("cadence_error", "cadence off", 1, percent=True),
    MetricColumn("skate", "feet slide", 3, unit="m/s"),
    MetricColumn("penetration_cm", "below ground", 2),
)
HELD_OUT_COLUMNS = (
    MetricColumn("legs_deg", "legs"),
    MetricColumn("hip_deg", "hip"),
    MetricColumn("knee_deg", "knee"),
    MetricColumn("ankle_deg", "ankle"),
    MetricColumn("joints_deg", "all joints"),
    MetricColumn("speed_percent", "speed off", 1, unit="%"),
    MetricColumn("skate", "feet slide", 3, unit="m/s"),
    MetricColumn("mse", "MSE", 5),
    MetricColumn("worst_legs_deg", "worst legs", 1),
    MetricColumn("worst_speed_percent"),
    MetricColumn("sequences"),
)
"""Columns of `GaitScores`, and of sliding feet."""
THIRD_COLUMNS = (
    MetricColumn("legs_deg", "legs"),
    MetricColumn("speed_percent", "speed", 1, unit="%"),
)
NOTES = (
    "Walks: parameters are drawn at random; speed, stride and cadence off are errors over "
    "what the parameters request. Feet slide: mean speed of standing feet. Below ground: "
    "the deepest point of the feet.",
    "Scaled walk: the healthy walk with larger or smaller swings on the same body, made by "
    "formulas: its speed is exact by construction. Healthy walk: the same with healthy "
    "stride and cadence.",
)


def run(request: EvalRequest) -> EvalOutcome:
    """Generate walks of random parameters; predict the gaits of `--data`."""
    args = request.args
    if args.estimator and not args.data:
        raise ConfigError("--estimator needs held-out gaits: give --data")
    network = load_gait_network(request.model_file)
    walks, rows = _walks(request, network)
    shown = walks_of(network)
    details: dict[str, Any] = {"walks": [flat(walk) for walk in shown]}
    about = f"{request.episodes} walks of parameters drawn at random"
    columns: Sequence[MetricColumn] = WALK_COLUMNS
    agents, breakdowns = walks, []
    headline = ("speed_error", "skate", "penetration_cm")
    found: HeldOut | None = None
    recovery: Recovery | None = None
    if args.data:
        found, agents = _held_out(request, network)
        breakdowns = [Breakdown("walks", {about: walks}, WALK_COLUMNS)]
        columns, about = HELD_OUT_COLUMNS, f"{len(found.gaits)} held-out gaits"
        headline = ("legs_deg", "speed_percent", "skate")
        details["held_out"] = found.to_dict()
        if args.estimator:
            estimator = load_estimator(find_model(args.estimator), network.space)
            recovery = recovered_by(estimator, request.model_file, found.gaits)
            breakdowns.append(parameter_breakdown(recovery, True))
            details["recovery"] = {POLICY: recovery.as_dict()}
        breakdowns.append(_thirds(found))
    else:
        about += " (no simulated gaits: give --data)"

    def film(path: Path, console: Console) -> None:
        del console
        write_network_film(path, network, found)

    films = ("walks.gif",) if found is None else ("walks.gif", f"{COMPARISON}.gif")
    return EvalOutcome(
        request.result(
            agents,
            columns,
            about,
            headline=headline,
            breakdowns=breakdowns,
            rows=rows,
            details=details,
            notes=NOTES,
        ),
        lambda: network_pictures(shown, found, recovery),
        {
            "parameters": f"{network.space.size} of {network.space.name}",
            "trained by": network.metadata.command or "unknown",
        },
        film,
        () if args.no_video else films,
    )


def _walks(
    request: EvalRequest, network: GaitNetwork
) -> tuple[Mapping[str, AgentMetrics], list[dict[str, Any]]]:
    """Return metrics and rows of walks of random parameters."""
    space = network.space
    gaits = random_gaits(network, request.episodes, request.seed)
    values = [space.denormalize(row) for row in gaits.params.astype(np.float64)]
    columns: dict[str, list[dict[str, float]]] = {}
    for row in values:
        columns.setdefault(POLICY, []).append(
            _errors(space, row, generated_facts(network, row))
        )
        for name in request.baselines:
            own = row.copy()
            if name == "healthy_walk":
                own[[space.index("stride"), space.index("cadence")]] = 1.0
            elif name != "scaled_walk":
                continue
            facts = scaled_facts(space, own)
            columns.setdefault(name, []).append(_errors(space, row, facts))
    agents = {
        name: measured(
            WALK_COLUMNS,
            {key: np.array([row[key] for row in errors]) for key in errors[0]},
            request.seed,
        )
        for name, errors in columns.items()
    }
    return agents, episode_rows(columns)


def _errors(space: GaitSpace, values: Floats, facts: GaitFacts) -> dict[str, float]:
    """Return how far a walk is from what the parameters request."""
    named, legs = space.named(values), leg_length(space, values)
    stride = float(HEALTHY.stride_of(named["stride"], legs))
    steps = 120.0 * float(HEALTHY.rate_of(named["cadence"], legs))
    return {
        "speed_error": abs(facts.speed / nominal_speed(space, values) - 1.0),
        "stride_error": abs(facts.stride_length / stride - 1.0),
        "cadence_error": abs(facts.steps_per_minute / steps - 1.0),
        "skate": facts.skate,
        "penetration_cm": 100.0 * max(-facts.lowest, 0.0),
    }


def _held_out(
    request: EvalRequest, network: GaitNetwork
) -> tuple[HeldOut, dict[str, AgentMetrics]]:
    """Return errors on held-out gaits of `--data`, and metrics of network and baselines."""
    data = data_of(network.metadata, request.args.data)
    gaits = held_out_gaits(data, request.episodes)
    found = held_out(network, gaits)
    scores = {**asdict(found.scores), "skate": found.skate[1]}
    agents: dict[str, AgentMetrics] = {POLICY: measured(HELD_OUT_COLUMNS, scores)}
    alone = [column for column in HELD_OUT_COLUMNS if column.name != "skate"]
    train = load_part(data, "train", MAX_TRAIN)
    fits: Mapping[str, GaitPredictor] = {
        "mean": of_mean(train),
        "ridge": of_ridge(train, load_part(data, "validation", 1024)),
    }
    for name in request.baselines:
        if name in fits:
            guess = score(fits[name](gaits.params), gaits.motions)
            agents[name] = measured(alone, guess)
    return found, agents


def _thirds(found: HeldOut) -> Breakdown:
    """Return the errors in the lower, middle and upper third of each parameter."""
    scores = measured_groups(THIRD_COLUMNS, {POLICY: found.thirds})
    title = "errors by third of a parameter's range: legs [deg] / speed [%]"
    return Breakdown("third", scores, THIRD_COLUMNS, title, in_terminal=False)
