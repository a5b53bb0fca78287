"""The command `ambulo rollouts`: episodes of an agent as a data set of Minari."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ambulo
from ambulo.common.console import bars
from ambulo.common.errors import Parser, front_door
from ambulo.common.find_model import find_model
from ambulo.common.paths import resolve_path
from ambulo.common.signals import leaving_cleanly
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.evaluate.shared.minari_data import check_identifier
from ambulo.policies.registry import spec_of

ROOT_VARIABLE = "MINARI_DATASETS_PATH"
"""Environment variable of Minari that names the folder of data sets."""
DEFAULT_ROOT = "~/.minari/datasets"
ENVS = 16
"""Environments at once unless the caller says otherwise."""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run `ambulo rollouts ...`; its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    args = _parser().parse_args(arguments)
    for name in ("episodes", "num_envs"):
        if getattr(args, name) < 1:
            raise ConfigError(f"--{name.replace('_', '-')}: must be at least 1")
    if args.seed < 0:
        raise ConfigError("--seed: must be at least 0")
    file = find_model(args.model)
    spec = spec_of(file)
    identifier = args.id or f"ambulo/{file.stem.replace('.', '_')}-v0"
    check_identifier(identifier)
    about = {
        "algorithm_name": f"{spec.kind} {file.stem}",
        "description": shlex.join(["ambulo", "rollouts", *arguments]),
        "requirements": [f"ambulo=={ambulo.__version__}"],
    }
    with leaving_cleanly():
        print(_record(args, file, _root(args.out), identifier, about))
    return 0


def _parser() -> Parser:
    """Return the command line."""
    parser = Parser(
        prog="ambulo rollouts",
        description="Record episodes of an agent as a data set that Minari reads.",
    )
    add = parser.add_argument
    add("model", metavar="MODEL", help="name of a model, model file or run folder")
    add(
        "--episodes", type=int, default=100, metavar="N",
        help="whole episodes (default: 100)",
    )  # fmt: skip
    add(
        "--id", metavar="ID",
        help="identifier, NAMESPACE/NAME-v0 (default: ambulo/MODEL-v0)",
    )  # fmt: skip
    add(
        "--out", metavar="FOLDER",
        help=f"folder of data sets (default: {ROOT_VARIABLE} or {DEFAULT_ROOT})",
    )  # fmt: skip
    add("--seed", type=int, default=0, metavar="N", help="seed of everything random")
    add(
        "--num-envs", type=int, default=ENVS, metavar="N",
        help=f"environments at once (default: {ENVS})",
    )  # fmt: skip
    add(
        "--stochastic", action="store_false", dest="deterministic",
        help="act with sampled actions instead of the mean action",
    )  # fmt: skip
    add("--no-progress", action="store_true", help="no progress bar")
    add("--verbose", action="store_true", help="tracebacks of errors")
    return parser


def _record(
    args: Any, file: Path, root: Path, identifier: str, about: Mapping[str, Any]
) -> Path:
    """Record the episodes; return the folder of the new data set."""
    # What is missing is reported before models are loaded.
    import h5py  # noqa: F401
    import minari  # noqa: F401

    from ambulo.envs.json_spec import json_spec
    from ambulo.evaluate.shared.minari_data import MinariWriter, rollouts

    agent = ambulo.load(file)
    if not hasattr(agent, "env_settings"):
        raise ModelFileError(
            f"{args.model}: is a {type(agent).__name__}, which acts in no environment"
        )
    if not args.deterministic:
        import torch

        torch.manual_seed(args.seed)
    env = ambulo.make_vec(agent, min(args.num_envs, args.episodes))
    try:
        writer = MinariWriter(
            root, identifier, env.single_observation_space, env.single_action_space,
            env_spec=json_spec(env.spec), about=about,
        )  # fmt: skip
        episodes = rollouts(
            agent, env, args.episodes, seed=args.seed, deterministic=args.deterministic
        )
        shown = not args.no_progress
        with writer, bars(40, shown=shown, unit="episodes") as progress:
            task = progress.add_task(identifier, total=args.episodes)
            for episode in episodes:
                writer.add(episode)
                progress.advance(task)
    finally:
        env.close()
    return writer.folder


def _root(named: str | None) -> Path:
    """Return the folder of data sets."""
    return resolve_path(named or os.environ.get(ROOT_VARIABLE) or DEFAULT_ROOT)
