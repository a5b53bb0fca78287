"""Evaluate agents beside what needs no training: `ambulo eval MODEL --episodes N`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from ambulo.common.console import bars
from ambulo.common.errors import Parser, front_door
from ambulo.common.files import write_or_print
from ambulo.common.find_model import find_model, shipped_model
from ambulo.common.gl import import_mujoco
from ambulo.common.paths import resolve_path
from ambulo.common.run_folder import RunFolder
from ambulo.common.signals import leaving_cleanly
from ambulo.configs.errors import ConfigError, ModelFileError, nearest
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.godot.check import check_engines
from ambulo.envs.vr.families.level_sets import SPLITS
from ambulo.envs.vr.planners.planners import PLANNERS
from ambulo.evaluate.evaluation_folder import report_folder
from ambulo.evaluate.vr import evaluation
from ambulo.evaluate.vr.evaluation import EvalSubject, LevelSource
from ambulo.evaluate.vr.evaluation_report import write_report, write_video_of
from ambulo.evaluate.vr.films import check_can_film
from ambulo.evaluate.vr.godot_flags import add_godot_flags, check_godot_flags
from ambulo.evaluate.vr.scores import EpisodeRecords, EvaluationResult, summarise
from ambulo.evaluate.vr.tables import print_tables
from ambulo.viz.html_report import POLICY

NONE = "none"
"""MODEL or `--baselines` that stands for nothing."""
DEFAULT_EPISODES = 90
"""Ten of each of the nine families."""
WORLDS = ("kernel", "mujoco", "godot")
DEFAULT_WORLD = "mujoco"
LOCOMOTION_ONLY = ("seconds", "push_episodes")
"""Flags for locomotion models."""

EPILOG = """\
examples:
  ambulo eval                                  the shipped agent on held-out levels
  ambulo eval runs/first --episodes 300        the best model of a run
  ambulo eval MODEL.zip --level-file my_levels --json scores.json
  ambulo eval none --level-set maze,pits       only the baselines
  ambulo eval WALK.zip --episodes 100 --video walk.mp4
                                               a locomotion model, pushed too
"""


def make_parser() -> Parser:
    """The command line of `ambulo eval`."""
    parser = Parser(
        prog="ambulo eval",
        description="Evaluate an agent and baselines on the same episodes.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "model", nargs="?", metavar="MODEL",
        help="model file, run folder, name of a shipped agent, or 'none' "
        "(default: the shipped agent)",
    )  # fmt: skip
    add(
        "--episodes", type=int, metavar="N",
        help=f"episodes in all, round-robin over levels (default: {DEFAULT_EPISODES}; "
        "100 of a locomotion model)",
    )  # fmt: skip
    add("--level-file", metavar="PATH", help="level JSON file or folder of them")
    add(
        "--level-set", metavar="NAMES",
        help=f"level families with commas between, or one of {', '.join(SPLITS)} "
        "(default: the model's own families, held-out levels)",
    )  # fmt: skip
    add(
        "--baselines", metavar="NAMES",
        help=f"from {', '.join(PLANNERS)}, or of locomotion law, open_loop, zero, or "
        "none (default: all)",
    )  # fmt: skip
    add("--seed", type=int, default=0, metavar="N", help="chooses levels and starts")
    add(
        "--json", nargs="?", const="-", metavar="FILE",
        help="scores as JSON, to FILE or to standard output",
    )  # fmt: skip
    add(
        "--world", metavar="NAME",
        help=f"{DEFAULT_WORLD} (default), kernel or godot",
    )  # fmt: skip
    add(
        "--deterministic", action="store_true", dest="deterministic", default=True,
        help="act with the mean action (default)",
    )  # fmt: skip
    add(
        "--stochastic", action="store_false", dest="deterministic",
        help="act with sampled actions",
    )  # fmt: skip
    add(
        "--output", metavar="FOLDER",
        help="folder of report and pictures (default: evaluation/ in the run or here)",
    )  # fmt: skip
    add("--no-report", action="store_true", help="no report, no pictures")
    add(
        "--video", "--record", metavar="FILE",
        help="film of one episode from the engine of --world, .mp4 or .gif",
    )  # fmt: skip
    add(
        "--num-envs", type=int, default=evaluation.DEFAULT_PLAYERS, metavar="N",
        help=f"players at once (default: {evaluation.DEFAULT_PLAYERS})",
    )  # fmt: skip
    add(
        "--seconds", type=float, metavar="S",
        help="locomotion: length of an episode (default: 20)",
    )  # fmt: skip
    add(
        "--push-episodes", type=int, metavar="N",
        help="locomotion: pushes of each impulse; 0 leaves them out (default: as many "
        "as episodes, at most 100)",
    )  # fmt: skip
    add(
        "--trust-pickle", action="store_true",
        help="let a Stable-Baselines3 zip run its pickle; only for files of your own",
    )  # fmt: skip
    add("--verbose", action="store_true", help="show tracebacks")
    add_godot_flags(parser)
    return parser


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    args = make_parser().parse_args(arguments)
    walker = _locomotion_model(args)
    if walker is not None:
        import_mujoco()
        if _is_gait_policy(walker):
            from ambulo.evaluate.gait.policy_command import run as evaluate_gait

            return evaluate_gait(args, arguments, walker)
        from ambulo.evaluate.locomotion.command import run as evaluate_walker

        return evaluate_walker(args, arguments, walker)
    _fill_in(args)
    baselines = _checked(args)
    environment = _in_world(NavigationConfig(), args).environment
    check_godot_flags(args, environment)
    check_engines(environment)
    import_mujoco()
    model = _model(args)
    contestants, config = _contestants(args, model, baselines)
    if args.video is not None:
        check_can_film(config)
    source = LevelSource(
        config, level_set=args.level_set, level_file=args.level_file, seed=args.seed
    )
    with report_folder(args, model) as folder:
        records = _play(args, contestants, source)
        results = {name: summarise(r, args.seed) for name, r in records.items()}
        console = Console(stderr=args.json == "-")
        print_tables(results, console, args.world)
        name = NONE if model is None else str(model)
        if args.json is not None:
            _write_json(args, name, results)
        video = None
        if args.video is not None:
            file = resolve_path(args.video)
            with leaving_cleanly():
                video = write_video_of(records, config, file, console)
        if folder is not None:
            run = None if model is None else RunFolder.around(model)
            facts = {
                "command": shlex.join(["ambulo", "eval", *arguments]),
                "model": name,
                "actions": "mean" if args.deterministic else "sampled",
                "levels": _levels_of(args, config),
                "episodes": str(args.episodes),
                "seed": str(args.seed),
                "world": args.world,
            }
            goal_radius = config.environment.goal_radius
            page = write_report(
                folder, records, results, facts, goal_radius, run, video
            )
            console.print(f"report: {page}", soft_wrap=True, markup=False)
    return 0


def _locomotion_model(args: argparse.Namespace) -> Path | None:
    """The model that is meant, if there is such a file and it is one of locomotion."""
    if args.model is None or args.model == NONE:
        return None
    try:
        file = find_model(args.model)
    except ModelFileError:
        return None  # told after the flags have been checked
    from ambulo.policies.cascade import is_cascade
    from ambulo.policies.files.locomotion_model import KIND
    from ambulo.policies.files.model_format import HEADER, kind_of

    if is_cascade(file):
        return file
    kind = kind_of(file)
    for flag in LOCOMOTION_ONLY:
        if not kind and getattr(args, flag) is not None:
            name = flag.replace("_", "-")
            raise ModelFileError(
                f"{file}: no {HEADER} inside: no locomotion model, which --{name} is for"
            )
    return file if kind == KIND else None


def _is_gait_policy(file: Path) -> bool:
    """Whether the locomotion model in `file` walks with bodies of many parameters."""
    from ambulo.policies.cascade import is_cascade
    from ambulo.policies.files.locomotion_model import load_locomotion

    if is_cascade(file):
        return True
    return load_locomotion(file).metadata.config.environment.task == "gait"


def _fill_in(args: argparse.Namespace) -> None:
    """Defaults of an evaluation of VR agents."""
    for flag in LOCOMOTION_ONLY:
        if getattr(args, flag) is not None:
            name = flag.replace("_", "-")
            raise ConfigError(f"--{name}: is for locomotion models only")
    args.episodes = DEFAULT_EPISODES if args.episodes is None else args.episodes
    args.world = DEFAULT_WORLD if args.world is None else args.world
    args.baselines = ",".join(PLANNERS) if args.baselines is None else args.baselines


def _checked(args: argparse.Namespace) -> list[str]:
    """The names of the baselines; every other flag is checked too."""
    for flag, value in (
        ("--episodes", args.episodes),
        ("--num-envs", args.num_envs),
        ("--godot-engines", args.godot_engines),
    ):
        if value is not None and value < 1:
            raise ConfigError(f"{flag} {value}: must be at least 1")
    if args.seed < 0:
        raise ConfigError(f"--seed {args.seed}: must be >= 0")
    if args.world not in WORLDS:
        raise ConfigError(
            f"--world: unknown {args.world!r}{nearest(args.world, WORLDS)}"
        )
    if args.level_set is not None and args.level_file is not None:
        raise ConfigError("--level-set and --level-file exclude each other")
    if args.video is not None and Path(args.video).suffix not in (".mp4", ".gif"):
        raise ConfigError(f"--video {args.video}: must end in .mp4 or .gif")
    names = [name.strip() for name in args.baselines.split(",")]
    if names == [NONE]:
        names = []
    for name in names:
        if name not in PLANNERS:
            hint = nearest(name, (*PLANNERS, NONE))
            raise ConfigError(f"--baselines: unknown baseline {name!r}{hint}")
    if args.model == NONE and not names:
        raise ConfigError("nothing to evaluate: no model and no baselines")
    return list(dict.fromkeys(names))


def _model(args: argparse.Namespace) -> Path | None:
    """The model file that is meant; None for no model."""
    if args.model is None:
        return shipped_model()
    return None if args.model == NONE else find_model(args.model)


def _contestants(
    args: argparse.Namespace, model: Path | None, baselines: Sequence[str]
) -> tuple[dict[str, EvalSubject], NavigationConfig]:
    """Who plays, and the settings that tell levels and limits."""
    contestants = {}
    config = _in_world(NavigationConfig(), args)
    if model is not None:
        from ambulo.policies.agent import load_agent

        agent = load_agent(model, trust_pickle=args.trust_pickle)
        config = _in_world(agent.config, args)
        contestants[POLICY] = evaluation.agent_contestant(
            agent, config, deterministic=args.deterministic, seed=args.seed
        )
    for name in baselines:
        contestants[name] = evaluation.planner_contestant(name, config)
    return contestants, config


def _in_world(config: NavigationConfig, args: argparse.Namespace) -> NavigationConfig:
    """`config` in the world of `args`; where engines are is no matter of the model."""
    return config.override(
        "environment",
        world=args.world,
        godot_url=args.godot_url,
        godot_bin=args.godot_bin,
        godot_project=None,
        godot_engines=args.godot_engines or 1,
    )


def _play(
    args: argparse.Namespace,
    contestants: Mapping[str, EvalSubject],
    source: LevelSource,
) -> dict[str, EpisodeRecords]:
    """Play all episodes, with a bar for each contestant on a terminal."""
    with bars(10) as progress:
        tasks = {
            name: progress.add_task(name, total=args.episodes) for name in contestants
        }
        return evaluation.evaluate(
            contestants,
            source,
            args.episodes,
            num_players=args.num_envs,
            progress=lambda name, count: progress.advance(tasks[name], count),
        )


def _write_json(
    args: argparse.Namespace, model: str, results: Mapping[str, EvaluationResult]
) -> None:
    data = {
        "model": model,
        "episodes": args.episodes,
        "seed": args.seed,
        "agents": {name: result.to_dict() for name, result in results.items()},
    }
    text = json.dumps(data, indent=1, allow_nan=False) + "\n"
    write_or_print(args.json, text)


def _levels_of(args: argparse.Namespace, config: NavigationConfig) -> str:
    """Which levels were played, in words."""
    if args.level_file is not None:
        return str(args.level_file)
    if args.level_set is not None:
        return f"{args.level_set} (held-out seeds unless the set has its own)"
    env = config.environment
    if env.level_file is not None:
        return env.level_file
    low, high = env.goal_distance
    return f"{', '.join(env.levels)}, held-out seeds, goals at {low:g}-{high:g} m"


if __name__ == "__main__":
    sys.exit(main())
