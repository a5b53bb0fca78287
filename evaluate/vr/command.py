"""`ambulo eval` of VR agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from ambulo.common.gl import import_mujoco
from ambulo.common.setting_flags import with_overrides
from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import Body, NavigationConfig
from ambulo.configs.vr_bodies import MOST_AGENTS, check_agents
from ambulo.envs.godot.settings import check_engines
from ambulo.envs.vr.task.env import embodied_config
from ambulo.envs.vr.task.observation import TASKS
from ambulo.evaluate.shared.choices import check_choice
from ambulo.evaluate.shared.kind import EvalOutcome, EvalRequest
from ambulo.evaluate.shared.result import POLICY, main_agent
from ambulo.evaluate.vr.dials import at_dials, dials_of
from ambulo.evaluate.vr.episodes import LevelSource, described_levels
from ambulo.evaluate.vr.evaluation_report import navigation_outcome
from ambulo.evaluate.vr.films import (
    FilmSettings,
    check_can_film,
    filmed_episode,
    write_episode_video,
)
from ambulo.evaluate.vr.godot_flags import check_godot_flags
from ambulo.evaluate.vr.map_film import write_map_film
from ambulo.evaluate.vr.scores import EpisodeRecords
from ambulo.evaluate.vr.subjects import (
    NavigationSubject,
    agent_subject,
    planner_subject,
)

BODIES: tuple[str, ...] = get_args(Body)
MAP_FILM = "film.mp4"
"""Film of an evaluation without `--video`: the agent on maps, beside walking straight."""
WORLDS = ("compiled", "mujoco", "godot")
_FLAGS = (
    "world", "body", "walker", "agents", "level_file", "scene", "godot_url", "godot_bin",
    "godot_project", "godot_engines",
)  # fmt: skip
"""Settings of the environment that have flags of their own."""


def run(request: EvalRequest) -> EvalOutcome:
    """Play the same episodes with the agent and the planners, and score them."""
    args, file = request.args, request.file
    if args.agents is not None and not 1 <= args.agents <= MOST_AGENTS:
        raise ConfigError(f"--agents {args.agents}: must be 1 to {MOST_AGENTS}")
    world = {None: "compiled", "kernel": "compiled"}.get(args.world, args.world)
    args = replace(args, world=world)  # "kernel" is a word of older commands
    request = replace(request, args=args)
    check_choice("--world", args.world, WORLDS)
    _check_flags(args, file)
    environment = _in_world(NavigationConfig(), args, "capsule").environment
    check_godot_flags(args, environment)
    check_engines(environment)
    import_mujoco()
    subjects, config, dials = _subjects(request)
    film = FilmSettings.of(
        config, args.film_with, args.views, args.film_episode, request.episodes
    )
    if args.video is not None and config.environment.agents > 1:
        raise ConfigError("--video: not with --agents, films show one agent alone")
    if args.video is not None and config.environment.scene is not None:
        raise ConfigError(
            "--video: scenes of an engine are not drawn; maps of them are"
        )
    if args.video is not None:
        check_can_film(config, film)
    source = LevelSource(
        config, level_set=args.level_set, level_file=args.level_file, seed=args.seed
    )
    _check_drawable(request, film, source)
    levels = described_levels(config, args.level_set, args.level_file)
    facts = {
        "actions": "mean" if args.deterministic else "sampled",
        "levels": levels,
        "world": args.world,
        "body": config.environment.body,
        "task": args.task or ", ".join(config.environment.tasks),
        **({"agents": str(args.agents)} if (args.agents or 1) > 1 else {}),
        **({"set": ", ".join(args.overrides)} if args.overrides else {}),
        **({"comfort": ", ".join(f"{c:g}" for c in dials)} if dials else {}),
    }

    def write_film(records: Mapping[str, EpisodeRecords], path: Path) -> None:
        if args.video is None:
            filmed = {n: r for n, r in records.items() if n in (POLICY, "straight")}
            title = f"trained agent (policy) and straight line on {levels}"
            write_map_film(filmed, config.environment.goal_radius, path, title)
        else:
            played = records[main_agent(records)]
            write_episode_video(
                filmed_episode(played, film.episode), config, film, path
            )

    return navigation_outcome(request, subjects, source, facts, write_film)


def _check_flags(args: Any, file: Path | None) -> None:
    """Raise `ConfigError` for flags that exclude each other, or of a bad value."""
    if args.level_set is not None and args.level_file is not None:
        raise ConfigError("--level-set and --level-file exclude each other")
    if args.comfort is not None and file is None:
        raise ConfigError("--comfort: needs a model")
    if args.task is not None:
        check_choice("--task", args.task, TASKS)
    for flag in ("film_with", "views", "film_episode"):
        if args.video is None and getattr(args, flag) is not None:
            raise ConfigError(f"--{flag.replace('_', '-')}: needs --video")


def _check_drawable(
    request: EvalRequest, film: FilmSettings, source: LevelSource
) -> None:
    """Raise `ConfigError` for a film from Godot of a level in which something moves."""
    if request.args.video is None or "godot" not in film.engines:
        return
    moving = source.moving_level(request.episodes)
    if moving is not None:
        raise ConfigError(
            f"--video: Godot does not draw what moves in level {moving!r}; "
            "use --film-with mujoco"
        )


def _subjects(
    request: EvalRequest,
) -> tuple[dict[str, NavigationSubject], NavigationConfig, tuple[float, ...]]:
    """Return the agents, the settings of levels and limits, and the comfort dials."""
    args = request.args
    subjects = {}
    dials: tuple[float, ...] = ()
    body = args.body or "capsule"
    if args.body is None or args.body == "capsule":
        config = _in_world(NavigationConfig(), args, body)
    else:
        config = _in_world(embodied_config(NavigationConfig()), args, body)
    if request.file is not None:
        from ambulo.policies.agents.navigation import load_agent

        agent = load_agent(request.file, trust_pickle=args.trust_pickle)
        trained_on = agent.config.environment.body
        body = args.body or ("human23" if trained_on == "twin" else trained_on)
        config = _in_world(_with_body(agent.config, body), args, body)
        dials = dials_of(args.comfort, config)
        for suffix, own in at_dials(config, dials).items():
            subjects[POLICY + suffix] = agent_subject(
                agent, own, deterministic=args.deterministic, seed=args.seed
            )
        config = config.at_comfort(dials[0]) if dials else config
    for name in request.baselines:
        # Planners have no dial: nothing but the top speed limits them.
        subjects[name] = planner_subject(name, config.at_comfort(0.0))
    return subjects, config, dials


def _with_body(config: NavigationConfig, body: str) -> NavigationConfig:
    """Return the settings of an agent, for another `body`; `ConfigError` without legs."""
    if body != "capsule" and config.environment.body == "capsule":
        raise ConfigError(
            f"--body {body}: the agent was trained for the capsule, whose speeds and ticks "
            "no walker has"
        )
    return config


def _in_world(config: NavigationConfig, args: Any, body: str) -> NavigationConfig:
    """Return `config` in the world of `args`; the model does not know where engines are."""
    check_choice("--body", body, BODIES)
    config = with_overrides(config, _overrides(args))
    scene = _scene(config, args)
    agents = args.agents or 1
    try:
        check_agents(agents, args.world, body)
    except ValueError as error:
        raise ConfigError(f"--{error}".replace(" = ", " ", 1)) from None
    try:
        return config.override(
            "environment",
            world=args.world,
            body=body,
            agents=agents,
            walker=args.walker or config.environment.walker,
            godot_url=args.godot_url,
            godot_bin=args.godot_bin,
            godot_project=args.godot_project,
            scene=scene,
            level_file=None if scene else config.environment.level_file,
            godot_engines=args.godot_engines or 1,
        )
    except ConfigError as error:
        named = str(error).replace("override: environment: scene = ", "--scene ")
        raise ConfigError(named) from None


def _overrides(args: Any) -> list[str]:
    """Return the `--set` of `args`; `ConfigError` for other groups, and for own flags."""
    for text in args.overrides:
        group, _, rest = text.partition("=")[0].strip().partition(".")
        if group not in ("actions", "environment"):
            raise ConfigError(f"--set {text}: only settings of actions and environment")
        if group == "environment" and rest in _FLAGS:
            raise ConfigError(f"--set {text}: use --{rest.replace('_', '-')}")
    return list(args.overrides)


def _scene(config: NavigationConfig, args: Any) -> str | None:
    """Return the scene of `args`, or that of the agent where nothing else is named."""
    named = args.level_set is not None or args.level_file is not None
    if args.scene is not None and named:
        raise ConfigError("--scene excludes --level-set and --level-file")
    if args.scene is not None or args.world != "godot" or named:
        return args.scene
    return config.environment.scene
