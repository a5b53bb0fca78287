"""Let bodies with random gait parameters walk, and write what they do as raw shards."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ambulo.common.command_line import Arg, command
from ambulo.common.console import bars
from ambulo.common.engine_flags import WorkerFlags
from ambulo.common.flag_types import Assignments, Count, Duration, Seed, numbers_of
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, GaitDataError, RunFolderError
from ambulo.configs.gait import gait_space
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.presets import LOCOMOTION_PRESETS
from ambulo.train.shared.jobs import workers_of

if TYPE_CHECKING:
    from ambulo.train.gait.rollouts import RolloutPlan

WORKERS = 2
"""Processes, where no number is given."""

EPILOG = """\
examples:
  python train/rollout_gait.py --episodes 4096 --workers 8 --out raw
  python train/rollout_gait.py --episodes 512 --set stride=1.1 --out raw
  python train/rollout_gait.py --model runs/gait_0 --episodes 4096 --engine ray --out raw

The same command continues where it was stopped: existing files stay.
"""


def _space(name: str) -> None:
    gait_space(name)


@dataclass(frozen=True, kw_only=True)
class RolloutFlags(WorkerFlags):
    """Let bodies with random gait parameters walk, and write what they do as raw shards."""

    model: Annotated[str | None, Arg("MODEL")] = None
    """policy: a file, a run folder or a shipped model; left out: the balance controller
    alone"""
    space: Annotated[str, Arg("NAME"), _space] = "human23"
    """parameters: those of human23 or myolegs"""
    episodes: Count = 1024
    """episodes in all files"""
    seconds: Duration = 5.0
    """length of an episode; 5 as in the reference"""
    fixed: Assignments = ()
    """a parameter that does not vary (repeatable)"""
    impaired: Count | None = None
    """muscle parameters that are drawn for each body, the others healthy (default: all, as
    in the reference, which leaves few bodies that can walk)"""
    seed: Seed = 0
    """seed of everything random"""
    per_file: Count = 16
    """episodes of a file"""
    reference: Annotated[str | None, Arg("FILE")] = None
    """the prepared healthy gait for roll-outs without a model"""
    out: Annotated[str, Arg("DIR")]
    """folder of the files"""


@command("rollout_gait", EPILOG)
def main(flags: RolloutFlags) -> int:
    """Write raw shards."""
    logging.basicConfig(level="WARNING", format="%(levelname)s: %(message)s")
    from ambulo.train.gait.rollouts import play_job

    workers_of(flags)  # refused before slow work
    folder = resolve_path(flags.out)
    plan = make_plan(flags)
    needs = [] if plan.model is None else [Path(plan.model)]
    workers = workers_of(flags, needs, WORKERS)
    from ambulo.motion.gaits.shards import write_raw

    jobs = range(-(-flags.episodes // flags.per_file))
    digest = plan.digest
    todo = [job for job in jobs if not _is_done(shard_file(folder, job), digest)]
    folder.mkdir(parents=True, exist_ok=True)
    began, episodes, fell, frames = time.perf_counter(), 0, 0, 0
    with bars(10) as shown:
        task = shown.add_task("episodes", total=len(todo) * flags.per_file)
        for result in workers.as_done(play_job, plan, todo, _name):
            write_raw(shard_file(folder, result.job), result.shard)
            episodes += flags.per_file
            fell += result.fell
            frames += int(result.shard.lengths.sum())
            shown.advance(task, flags.per_file)
    seconds = time.perf_counter() - began
    if len(todo) < len(jobs):
        print(f"{len(jobs) - len(todo)} files were there already")
    print(
        f"{episodes} episodes of {flags.seconds:g} s in {len(todo)} files in {folder}, "
        f"{fell} fell; {frames} frames in {seconds:.0f} s"
    )
    return 0


def make_plan(flags: RolloutFlags) -> RolloutPlan:
    """Return the roll-outs that the flags ask for."""
    from ambulo.train.gait.rollouts import RolloutPlan

    fixed = fixed_parameters(flags.space, flags.fixed)
    model, cascaded = None, False
    if flags.model is not None:
        from ambulo.common.find_model import find_model
        from ambulo.evaluate.locomotion.cascades import last_agent, load_gait_policy
        from ambulo.policies.agents.cascade import Cascade

        model = find_model(flags.model)
        policy = load_gait_policy(model)
        cascaded = isinstance(policy, Cascade)
        agent = last_agent(policy)
        config, reference = agent.config, agent.references[0]
        if not config.environment.traits.parameters:
            raise ConfigError(f"{model}: is no policy of the task gait")
        if config.environment.character != flags.space:
            raise ConfigError(
                f"{model}: is for {config.environment.character}, not {flags.space}"
            )
    else:
        legs = flags.space == "myolegs"
        config = LOCOMOTION_PRESETS.load("gait").override(
            "environment",
            character=flags.space,
            actuation="muscle" if legs else "torque",
        )
        reference = _healthy(config, flags.reference)
    steps = max(1, round(flags.seconds * config.environment.control_rate))
    config = config.override("environment", max_episode_steps=steps)
    config = config.override("environment", push_impulse=(0.0, 0.0))
    config = config.override("gait", parameters=fixed, impaired=flags.impaired)
    config = config.override("gait", sample=True, base=None, vary=())
    return RolloutPlan(
        config.shareable().model_dump(mode="json"),
        reference,
        None if model is None else str(model),
        flags.seed,
        steps,
        flags.per_file,
        cascaded,
    )


def fixed_parameters(space: str, texts: Iterable[str]) -> dict[str, float]:
    """The parameters in `NAME=VALUE` texts; errors name the text."""
    parameters = numbers_of(texts)
    gait_space(space).vector(**parameters)
    return parameters


def shard_file(folder: Path, job: int) -> Path:
    """The file of a job."""
    return folder / f"rollout_{job:05d}.npz"


def _name(job: int) -> str:
    """Name of a job in errors: its file."""
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
    from ambulo.envs.reference.configured import configured_character, reference_of
    from ambulo.envs.reference.reference import reference_bytes

    env = config.environment
    if file is not None:
        env = env.replace(reference=str(resolve_path(file)))
    return reference_bytes(reference_of(env, configured_character(env)))


if __name__ == "__main__":
    sys.exit(main())
