"""`ambulo eval MODEL` for locomotion models: play, score, push, film and report."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from ambulo.common.files import write_or_print
from ambulo.common.paths import resolve_path
from ambulo.common.signals import leaving_cleanly
from ambulo.configs.errors import ConfigError, ModelFileError, RenderError, nearest
from ambulo.envs.reference.reference import Reference, body_of
from ambulo.evaluate.evaluation_folder import report_folder
from ambulo.evaluate.locomotion.evaluation import (
    BASELINES,
    PLAYERS,
    SECONDS,
    EvalSubject,
    baselines_of,
    evaluate,
)
from ambulo.evaluate.locomotion.pushes import (
    IMPULSES,
    PushRecovery,
    push_recovery,
)
from ambulo.evaluate.locomotion.recording import Recording
from ambulo.evaluate.locomotion.report import (
    Found,
    print_found,
    write_locomotion_report,
)
from ambulo.evaluate.locomotion.scores import score
from ambulo.evaluate.locomotion.task import stored_references
from ambulo.policies.files.locomotion_model import load_locomotion
from ambulo.policies.locomotion_agent import LocomotionAgent
from ambulo.viz.html_report import POLICY

EPISODES = 100
"""Episodes unless `--episodes` says otherwise."""
NONE = "none"
"""`--baselines` that stands for nothing."""


def run(args: argparse.Namespace, arguments: Sequence[str], file: Path) -> int:
    """Evaluate the locomotion model `file` as `args` say; the exit code.

    Args:
        args: What `ambulo eval` was given.
        arguments: The same as text, for the report.
        file: The model.
    """
    names = _checked(args)
    episodes = args.episodes or EPISODES
    seconds = args.seconds or SECONDS
    pushes = (
        min(episodes, EPISODES) if args.push_episodes is None else args.push_episodes
    )
    contestants = _contestants(args, file, names)
    with report_folder(args, file) as folder:
        recordings = _play(args, contestants, episodes, seconds)
        scores = {name: score(r, args.seed) for name, r in recordings.items()}
        found = Found(scores, _push(args, contestants, pushes))
        console = Console(stderr=args.json == "-")
        print_found(found, console, seconds)
        if args.json is not None:
            _write_json(args, file, found, episodes, seconds)
        facts: dict[str, str] = {}
        if folder is not None:
            facts = {
                "command": shlex.join(["ambulo", "eval", *arguments]),
                "model": str(file),
                "actions": "mean" if args.deterministic else "sampled",
                "episodes": f"{episodes} of {seconds:g} s",
                "seed": str(args.seed),
                **{name: BASELINES[name] for name in contestants if name in BASELINES},
            }
            page = write_locomotion_report(folder, found, facts)
            console.print(f"report: {page}", soft_wrap=True, markup=False)
        if args.video is not None:  # last: it takes longest, and is needed least
            video = _film(args, contestants, recordings, console)
            if folder is not None and video is not None:
                write_locomotion_report(folder, found, facts, video)
    return 0


def _checked(args: argparse.Namespace) -> list[str]:
    """The names of the baselines; every other flag is checked too."""
    for flag, value in (("--episodes", args.episodes), ("--num-envs", args.num_envs)):
        if value is not None and value < 1:
            raise ConfigError(f"{flag} {value}: must be at least 1")
    if args.push_episodes is not None and args.push_episodes < 0:
        raise ConfigError(f"--push-episodes {args.push_episodes}: must be >= 0")
    if args.seconds is not None and not 0.0 < args.seconds <= 3600.0:
        raise ConfigError(f"--seconds {args.seconds:g}: must be above 0, at most 3600")
    if args.seed < 0:
        raise ConfigError(f"--seed {args.seed}: must be >= 0")
    for flag in ("level_file", "level_set", "world"):
        if getattr(args, flag) is not None:
            name = flag.replace("_", "-")
            raise ConfigError(f"--{name}: is for VR agents, not for locomotion")
    if args.video is not None and Path(args.video).suffix not in (".mp4", ".gif"):
        raise ConfigError(f"--video {args.video}: must end in .mp4 or .gif")
    text = ",".join(BASELINES) if args.baselines is None else args.baselines
    names = [name.strip() for name in text.split(",")]
    names = [] if names == [NONE] else list(dict.fromkeys(names))
    for name in names:
        if name not in BASELINES:
            hint = nearest(name, (*BASELINES, NONE))
            raise ConfigError(f"--baselines: unknown baseline {name!r}{hint}")
    return names


def _contestants(
    args: argparse.Namespace, file: Path, names: Sequence[str]
) -> dict[str, EvalSubject]:
    """The policy, then the baselines."""
    model = load_locomotion(file)
    try:
        agent = LocomotionAgent(model, str(file))
        body_of(agent.config.environment)
    except ConfigError as error:
        raise ModelFileError(f"{file}: {error}") from None
    references: tuple[Reference | None, ...] = stored_references(model, str(file))
    references = references or (None,)
    if not args.deterministic:
        import torch

        torch.manual_seed(args.seed)
    policy = EvalSubject(
        agent.config, references, agent, args.deterministic, agent.muscles
    )
    baselines = baselines_of(names, agent.config, references)
    return {
        POLICY: policy,
        **{
            name: replace(baseline, muscles=agent.muscles)
            for name, baseline in baselines.items()
        },
    }


def _play(
    args: argparse.Namespace,
    contestants: dict[str, EvalSubject],
    episodes: int,
    seconds: float,
) -> dict[str, Recording]:
    """Play all undisturbed episodes, with a bar for each contestant."""
    with _bar() as progress:
        tasks = {name: progress.add_task(name, total=episodes) for name in contestants}
        return evaluate(
            contestants,
            episodes,
            seconds=seconds,
            seed=args.seed,
            players=args.num_envs or PLAYERS,
            progress=lambda name, count: progress.advance(tasks[name], count),
        )


def _push(
    args: argparse.Namespace, contestants: dict[str, EvalSubject], episodes: int
) -> dict[str, PushRecovery]:
    """Push recovery of all contestants; nothing for no episodes."""
    found = {}
    if not episodes:
        return {}
    with _bar() as progress:
        for name, contestant in contestants.items():
            task = progress.add_task(f"push {name}", total=episodes * len(IMPULSES))
            found[name] = push_recovery(
                contestant,
                episodes,
                seed=args.seed,
                players=args.num_envs or PLAYERS,
                progress=partial(progress.advance, task),
            )
    return found


def _film(
    args: argparse.Namespace,
    contestants: dict[str, EvalSubject],
    recordings: dict[str, Recording],
    console: Console,
) -> Path | None:
    """Film of the hero's first episode; None and a message where that fails."""
    from ambulo.viz.body_film import write_gait_film

    name = next(iter(contestants))
    recording, path = recordings[name], resolve_path(args.video)
    character = body_of(contestants[name].config.environment)
    last = max(1, int(recording.standing[:, 0].sum()))
    poses = recording.poses[:last, 0]
    console.print(
        f"filming {last * recording.dt:.0f} s of {name} "
        "(minutes, where pictures are drawn without a graphics card)",
        markup=False,
    )
    try:
        with leaving_cleanly():
            write_gait_film(path, character.model, character, poses, recording.dt)
    except RenderError as error:
        console.print(f"no video: {error}", soft_wrap=True, markup=False)
        return None
    console.print(f"video: {path}", soft_wrap=True, markup=False)
    return path


def _write_json(
    args: argparse.Namespace, file: Path, found: Found, episodes: int, seconds: float
) -> None:
    data = {
        "model": str(file),
        "episodes": episodes,
        "seconds": seconds,
        "seed": args.seed,
        "agents": found.agents(),
    }
    write_or_print(args.json, json.dumps(data, indent=1, allow_nan=False) + "\n")


def _bar() -> Progress:
    """A progress bar on a terminal, nothing elsewhere."""
    return Progress(
        TextColumn("{task.description:16}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
