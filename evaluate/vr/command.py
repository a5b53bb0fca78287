"""`ambulo eval` of VR agents."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from ambulo.common.gl import import_mujoco
from ambulo.common.run_folder import RunFolder
from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.godot.check import check_engines
from ambulo.evaluate.shared.kind import EvalOutcome, EvalRequest, episode_bars
from ambulo.evaluate.shared.result import POLICY
from ambulo.evaluate.vr import evaluation
from ambulo.evaluate.vr.episodes import LevelSource, described_levels
from ambulo.evaluate.vr.evaluation import NavigationSubject
from ambulo.evaluate.vr.evaluation_report import (
    navigation_evaluation,
    pictures,
    write_film,
)
from ambulo.evaluate.vr.films import check_can_film
from ambulo.evaluate.vr.godot_flags import check_godot_flags
from ambulo.evaluate.vr.scores import EpisodeRecords, summarise

WORLDS = ("kernel", "mujoco", "godot")
DEFAULT_WORLD = "mujoco"


def run(request: EvalRequest) -> EvalOutcome:
    """Play the same episodes with the agent and the planners, and score them."""
    args, file = request.args, request.file
    args.world = DEFAULT_WORLD if args.world is None else args.world
    if args.world not in WORLDS:
        hint = nearest(args.world, WORLDS)
        raise ConfigError(f"--world: unknown {args.world!r}{hint}")
    if args.level_set is not None and args.level_file is not None:
        raise ConfigError("--level-set and --level-file exclude each other")
    environment = _in_world(NavigationConfig(), args).environment
    check_godot_flags(args, environment)
    check_engines(environment)
    import_mujoco()
    subjects, config = _subjects(request)
    if args.video is not None:
        check_can_film(config)
    source = LevelSource(
        config, level_set=args.level_set, level_file=args.level_file, seed=args.seed
    )
    records = _play(request, subjects, source)
    results = {name: summarise(r, args.seed) for name, r in records.items()}
    facts = {
        "command": request.command,
        "model": "none" if file is None else str(file),
        "actions": "mean" if args.deterministic else "sampled",
        "levels": described_levels(config, args.level_set, args.level_file),
        "seed": str(args.seed),
        "world": args.world,
    }
    run_folder = None if file is None else RunFolder.around(file)
    radius = config.environment.goal_radius
    return EvalOutcome(
        navigation_evaluation(records, results, facts),
        pictures=lambda: pictures(records, results, radius, run_folder),
        facts=facts,
        film=lambda path, _: write_film(records, config, path),
    )


def _subjects(
    request: EvalRequest,
) -> tuple[dict[str, NavigationSubject], NavigationConfig]:
    """Return the agents, and the settings of levels and limits."""
    args = request.args
    subjects = {}
    config = _in_world(NavigationConfig(), args)
    if request.file is not None:
        from ambulo.policies.agents.navigation import load_agent

        agent = load_agent(request.file, trust_pickle=args.trust_pickle)
        config = _in_world(agent.config, args)
        subjects[POLICY] = evaluation.agent_subject(
            agent, config, deterministic=args.deterministic, seed=args.seed
        )
    for name in request.baselines:
        subjects[name] = evaluation.planner_subject(name, config)
    return subjects, config


def _in_world(config: NavigationConfig, args: argparse.Namespace) -> NavigationConfig:
    """Return `config` in the world of `args`; the model does not know where engines are."""
    return config.override(
        "environment",
        world=args.world,
        godot_url=args.godot_url,
        godot_bin=args.godot_bin,
        godot_project=None,
        godot_engines=args.godot_engines or 1,
    )


def _play(
    request: EvalRequest, subjects: Mapping[str, NavigationSubject], source: LevelSource
) -> dict[str, EpisodeRecords]:
    """Play all episodes, with a progress bar for each agent on a terminal."""
    with episode_bars(subjects, request.episodes) as progress:
        return evaluation.evaluate(
            subjects,
            source,
            request.episodes,
            num_envs=request.args.num_envs or evaluation.DEFAULT_NUM_ENVS,
            progress=progress,
        )
