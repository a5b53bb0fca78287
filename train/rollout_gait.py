"""Let bodies with random gait parameters walk, and write what they do as raw shards."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ambulo.common.console import bars
from ambulo.common.errors import Parser, front_door
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, GaitDataError, RunFolderError
from ambulo.configs.gait import GAIT_SPACES, gait_space
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.presets.locomotion import preset
from ambulo.train.shared.jobs import add_worker_flags, workers_of

if TYPE_CHECKING:
    from ambulo.train.gait.rollouts import RolloutPlan

PER_FILE = 16
"""Episodes of a file."""
WORKERS = 2
"""Processes, where no number is given."""
SECONDS = 5.0
"""Length of an episode, [s]; as published."""

EPILOG = """\
examples:
  python train/rollout_gait.py --episodes 4096 --workers 8 --out raw
  python train/rollout_gait.py --episodes 512 --set stride=1.1 --out raw
  python train/rollout_gait.py --model runs/gait_0 --episodes 4096 --engine ray --out raw

The same command continues where it was stopped: existing files stay.
"""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    args = make_parser().parse_args(argv)
    logging.basicConfig(level="WARNING", format="%(levelname)s: %(message)s")
    check(args)
    from ambulo.train.gait.rollouts import play_job

    workers_of(args)  # refused before slow work
    folder = resolve_path(args.out)
    plan = make_plan(args)
    needs = [] if plan.model is None else [Path(plan.model)]
    workers = workers_of(args, needs, WORKERS)
    from ambulo.motion.gaits.shards import write_raw

    jobs = range(-(-args.episodes // args.per_file))
    digest = plan.digest
    todo = [job for job in jobs if not _is_done(shard_file(folder, job), digest)]
    folder.mkdir(parents=True, exist_ok=True)
    began, episodes, fell, frames = time.perf_counter(), 0, 0, 0
    with bars(10) as shown:
        task = shown.add_task("episodes", total=len(todo) * args.per_file)
        for result in workers.as_done(play_job, plan, todo, _name):
            write_raw(shard_file(folder, result.job), result.shard)
            episodes += args.per_file
            fell += result.fell
            frames += int(result.shard.lengths.sum())
            shown.advance(task, args.per_file)
    seconds = time.perf_counter() - began
    if len(todo) < len(jobs):
        print(f"{len(jobs) - len(todo)} files were there already")
    print(
        f"{episodes} episodes of {args.seconds:g} s in {len(todo)} files in {folder}, "
        f"{fell} fell; {frames} frames in {seconds:.0f} s"
    )
    return 0


def make_parser() -> Parser:
    """The command line."""
    parser = Parser(
        prog="rollout_gait",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--model", metavar="MODEL",
        help="policy: a file, a run folder or a shipped model; left out: the balance "
        "controller alone",
    )  # fmt: skip
    parser.add_argument(
        "--space", default="human23", metavar="NAME",
        help=f"parameters: {', '.join(GAIT_SPACES)} (default: human23)",
    )  # fmt: skip
    parser.add_argument("--episodes", type=int, default=1024, metavar="N")
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="S")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="fixed",
        help="a parameter that does not vary (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--impaired", type=int, metavar="N",
        help="muscle parameters that are drawn for each body, the others healthy "
        "(default: all, as published, which leaves few bodies that can walk)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument(
        "--per-file", type=int, default=PER_FILE, metavar="N", help="episodes of a file"
    )
    add_worker_flags(parser, str(WORKERS))
    parser.add_argument(
        "--reference", metavar="FILE",
        help="the prepared healthy gait for roll-outs without a model",
    )  # fmt: skip
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="folder of the files"
    )
    parser.add_argument("--verbose", action="store_true", help=argparse.SUPPRESS)
    return parser


def check(args: argparse.Namespace) -> None:
    """Refuse numbers that make no sense, before work is done."""
    if args.impaired is not None and args.impaired < 1:
        raise ConfigError("--impaired must be at least 1")
    for name in ("episodes", "per_file"):
        if getattr(args, name) < 1:
            raise ConfigError(f"--{name.replace('_', '-')} must be at least 1")
    if not 0.0 < args.seconds <= 3600.0:
        raise ConfigError("--seconds must be above 0, at most 3600")
    if args.seed < 0:
        raise ConfigError(f"--seed {args.seed}: must be >= 0")
    gait_space(args.space)


def make_plan(args: argparse.Namespace) -> RolloutPlan:
    """Return the roll-outs that the flags ask for."""
    from ambulo.train.gait.rollouts import RolloutPlan

    fixed = fixed_parameters(args.space, args.fixed)
    model, cascaded = None, False
    if args.model is not None:
        from ambulo.common.find_model import find_model
        from ambulo.evaluate.locomotion.cascades import last_agent, load_gait_policy
        from ambulo.policies.agents.cascade import Cascade

        model = find_model(args.model)
        policy = load_gait_policy(model)
        cascaded = isinstance(policy, Cascade)
        agent = last_agent(policy)
        config, reference = agent.config, agent.references[0]
        if not config.environment.traits.parameters:
            raise ConfigError(f"{model}: is no policy of the task gait")
        if config.environment.character != args.space:
            raise ConfigError(
                f"{model}: is for {config.environment.character}, not {args.space}"
            )
    else:
        legs = args.space == "myolegs"
        config = preset("gait").override(
            "environment",
            character=args.space,
            actuation="muscle" if legs else "torque",
        )
        reference = _healthy(config, args.reference)
    steps = max(1, round(args.seconds * config.environment.control_rate))
    config = config.override("environment", max_episode_steps=steps)
    config = config.override("environment", push_impulse=(0.0, 0.0))
    config = config.override("gait", parameters=fixed, impaired=args.impaired)
    config = config.override("gait", sample=True, base=None, vary=())
    return RolloutPlan(
        config.shareable().model_dump(mode="json"),
        reference,
        None if model is None else str(model),
        args.seed,
        steps,
        args.per_file,
        cascaded,
    )


def fixed_parameters(space: str, texts: Sequence[str]) -> dict[str, float]:
    """The parameters in `NAME=VALUE` texts; errors name the text."""
    parameters: dict[str, float] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            parameters[name.strip()] = float(value)
        except ValueError:
            raise ConfigError(f"--set {text}: expected NAME=NUMBER") from None
        if not equals:
            raise ConfigError(f"--set {text}: expected NAME=NUMBER")
    gait_space(space).vector(**parameters)
    return parameters


def shard_file(folder: Path, job: int) -> Path:
    """The file of a job."""
    return folder / f"rollout_{job:05d}.npz"


def _name(job: int) -> str:
    """What errors call a job: its file."""
    return shard_file(Path(), job).name


def _is_done(path: Path, digest: str) -> bool:
    """Whether the file of a job exists and is whole; one of another plan is an error."""
    from ambulo.motion.gaits.shards import read_raw

    if not path.exists():
        return False
    try:
        shard = read_raw(path)
    except GaitDataError:
        return False  # a damaged file is made anew
    if shard.source.get("plan") != digest:
        raise RunFolderError(
            f"{path}: was made with other settings, seed or policy; name another folder"
        )
    return True


def _healthy(config: LocomotionConfig, file: str | None) -> bytes:
    """The healthy gait, made now or read from a file."""
    from ambulo.envs.reference.configured import body_of, reference_of
    from ambulo.envs.reference.reference import reference_bytes

    env = config.environment
    if file is not None:
        env = env.replace(reference=str(resolve_path(file)))
    return reference_bytes(reference_of(env, body_of(env)))


if __name__ == "__main__":
    sys.exit(main())
