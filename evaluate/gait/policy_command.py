"""`ambulo eval MODEL` for gait policies: bodies that they have never seen, with the law."""

from __future__ import annotations

import argparse
import html
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from ambulo.common.console import bars
from ambulo.common.files import write_atomic, write_or_print
from ambulo.common.tables import widen
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.reference.reference import reference_from_bytes
from ambulo.evaluate.evaluation_folder import report_folder
from ambulo.evaluate.gait.policy_scores import (
    GaitPolicyScores,
    drawn_bodies,
    play_bodies,
)
from ambulo.evaluate.locomotion.cascades import (
    BASE,
    GaitPolicy,
    last_agent,
    load_gait_policy,
    varied,
)
from ambulo.evaluate.locomotion.evaluation import undisturbed
from ambulo.policies.cascade import Cascade
from ambulo.viz.html_report import POLICY, facts_table, page_html, table_html

BODIES, SECONDS = 48, 10.0
"""Bodies, an episode each, and its length, [s], unless the flags say otherwise."""
LAW = "law"
"""The balance law alone, which the policy adds to."""
HEADS = [
    "agent", "on feet", "time s", "joints deg", "stride off", "cadence off",
    "speed off", "return",
]  # fmt: skip

Results = Mapping[str, Mapping[str, GaitPolicyScores]]
"""Scores by disturbance and agent."""


def run(args: argparse.Namespace, arguments: Sequence[str], file: Path) -> int:
    """Evaluate the gait policy `file` as `args` say; the exit code.

    Args:
        args: What `ambulo eval` was given.
        arguments: The same as text, for the report.
        file: The model.
    """
    baselines = _checked(args)
    policy = load_gait_policy(file)
    if isinstance(policy, Cascade) and not args.deterministic:
        raise ConfigError("--stochastic: a cascade acts with mean actions only")
    bodies, seconds = args.episodes or BODIES, args.seconds or SECONDS
    with report_folder(args, file) as folder:
        found = _play(args, policy, file, baselines, bodies, seconds)
        console = Console(stderr=args.json == "-")
        widen(console)
        for title, scores in found.items():
            console.print(_table(f"{bodies} bodies, {seconds:g} s, {title}", scores))
        if args.json is not None:
            agents = {
                title: {name: s.to_dict() for name, s in scores.items()}
                for title, scores in found.items()
            }
            told = {"model": str(file), "bodies": bodies, "seconds": seconds}
            data = {**told, "seed": args.seed, "scores": agents}
            write_or_print(
                args.json, json.dumps(data, indent=1, allow_nan=False) + "\n"
            )
        if folder is not None:
            facts = {
                "command": shlex.join(["ambulo", "eval", *arguments]),
                "model": str(file),
                "actions": "mean" if args.deterministic else "sampled",
                "bodies": f"{bodies}, parameters of seed {args.seed}",
            }
            page = folder / "report.html"
            write_atomic(page, page_html("Gait: evaluation", _body(found, facts)))
            console.print(f"report: {page}", soft_wrap=True, markup=False)
    return 0


def _checked(args: argparse.Namespace) -> list[str]:
    """The names of the baselines; every other flag is checked too."""
    for flag, value in (("--episodes", args.episodes), ("--num-envs", args.num_envs)):
        if value is not None and value < 1:
            raise ConfigError(f"{flag} {value}: must be at least 1")
    if args.push_episodes not in (None, 0):
        raise ConfigError(
            f"--push-episodes {args.push_episodes}: of a gait policy every body is "
            "pushed; 0 leaves pushes out"
        )
    if args.seconds is not None and not 0.0 < args.seconds <= 3600.0:
        raise ConfigError(f"--seconds {args.seconds:g}: must be above 0, at most 3600")
    if args.seed < 0:
        raise ConfigError(f"--seed {args.seed}: must be >= 0")
    for flag in ("level_file", "level_set", "world"):
        if getattr(args, flag) is not None:
            name = flag.replace("_", "-")
            raise ConfigError(f"--{name}: is for VR agents, not for locomotion")
    if args.video is not None:
        raise ConfigError(
            "--video: gait policies are not filmed; let rollout_gait write what they do"
        )
    if args.baselines not in (None, LAW, "none"):
        raise ConfigError(
            f"--baselines {args.baselines}: beside a gait policy only law, or none"
        )
    return [] if args.baselines == "none" else [LAW]


def _play(
    args: argparse.Namespace,
    policy: GaitPolicy,
    file: Path,
    baselines: Sequence[str],
    bodies: int,
    seconds: float,
) -> Results:
    """Let policy, its base and the law walk with the same bodies, calm and pushed."""
    agent = last_agent(policy)
    if not agent.references:
        raise ModelFileError(f"{file}: holds no healthy gait")
    healthy = reference_from_bytes(agent.references[0], file)
    calm = undisturbed(agent.config, seconds).override("gait", vary=varied(policy))
    configs: dict[str, LocomotionConfig] = {"undisturbed": calm}
    low, high = agent.config.environment.push_impulse
    if high > 0.0 and args.push_episodes != 0:
        pushed = calm.override("environment", push_impulse=(low, high))
        configs[f"pushed with {low:g} to {high:g} N s"] = pushed
    if not args.deterministic:
        import torch

        torch.manual_seed(args.seed)
    values = drawn_bodies(calm, healthy, args.seed, bodies)
    actors: dict[str, GaitPolicy | None] = {POLICY: policy}
    if isinstance(policy, Cascade) and baselines:
        actors[BASE] = policy.nodes[0].agent
    actors |= dict.fromkeys(baselines)
    steps = calm.environment.max_episode_steps
    found: dict[str, dict[str, GaitPolicyScores]] = {}
    with bars(10) as shown:
        for title, config in configs.items():
            found[title] = {}
            for name, actor in actors.items():
                task = shown.add_task(f"{name}, {title}", total=steps)
                found[title][name] = play_bodies(
                    config,
                    healthy,
                    values,
                    actor,
                    args.seed,
                    deterministic=args.deterministic,
                    progress=lambda task=task: shown.advance(task),  # type: ignore[misc]
                )
    return found


def _rows(scores: Mapping[str, GaitPolicyScores]) -> list[list[str]]:
    rows = []
    for name, s in scores.items():
        low, high = (100 * end for end in s.survival_ci95)
        off = (
            "-" if value is None else f"{100 * value:.1f} %"
            for value in (
                s.to_dict()[f"{kind}_error"] for kind in ("stride", "cadence", "speed")
            )
        )
        rows.append(
            [
                name,
                f"{100 * s.survival_rate:.0f} % ({low:.0f}-{high:.0f})",
                f"{s.survival_s:.1f}",
                f"{s.joint_error_deg:.2f}",
                *off,
                f"{s.return_mean:.0f}",
            ]
        )
    return rows


def _table(title: str, scores: Mapping[str, GaitPolicyScores]) -> Table:
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in HEADS:
        table.add_column(head, justify="left" if head == "agent" else "right")
    for row in _rows(scores):
        table.add_row(*row, style="bold" if row[0] == POLICY else None)
    return table


def _body(found: Results, facts: Mapping[str, str]) -> list[str]:
    """The page's parts."""
    parts = ["<h1>Gait: evaluation</h1>"]
    for title, scores in found.items():
        parts += [f"<h2>{html.escape(title)}</h2>", table_html(HEADS, _rows(scores))]
    note = (
        "On feet: share, with its 95 % Wilson interval. Off: mean size of errors of "
        "those that did not fall, after the first second. Return: until a fall."
    )
    return [
        *parts,
        f"<p class='note'>{note}</p>",
        "<h2>How this was made</h2>",
        facts_table(facts),
    ]
