"""The command `ambulo rollouts`: episodes of an agent as a data set of Minari."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import ambulo
from ambulo.common.command_line import Arg, Flags, command
from ambulo.common.flag_types import Count, Seed, positional
from ambulo.common.paths import resolve_path
from ambulo.common.signals import leaving_cleanly
from ambulo.configs.errors import ModelFileError

ROOT_VARIABLE = "MINARI_DATASETS_PATH"
"""Environment variable of Minari that names the folder of data sets."""
DEFAULT_ROOT = "~/.minari/datasets"


@dataclass(frozen=True, kw_only=True)
class RolloutsFlags(Flags):
    """Record episodes of an agent as a data set that Minari reads."""

    model: Annotated[str, positional("MODEL")]
    """name of a model, model file or run folder"""
    episodes: Count = 100
    """whole episodes"""
    id: str | None = None
    """identifier, NAMESPACE/NAME-v0 (default: ambulo/MODEL-v0)"""
    out: Annotated[str | None, Arg("FOLDER")] = None
    """folder of data sets (default: MINARI_DATASETS_PATH or ~/.minari/datasets)"""
    seed: Seed = 0
    """seed of everything random"""
    num_envs: Count = 16
    """environments at once"""
    stochastic: bool = False
    """act with sampled actions instead of the mean action"""
    no_progress: bool = False
    """no progress bar"""


@command("ambulo rollouts")
def main(flags: RolloutsFlags) -> int:
    """Record a data set."""
    from ambulo.commands.minari_data import check_identifier
    from ambulo.common.find_model import find_model
    from ambulo.policies.registry import spec_of

    file = find_model(flags.model)
    spec = spec_of(file)
    identifier = flags.id or f"ambulo/{file.stem.replace('.', '_')}-v0"
    check_identifier(identifier)
    about = {
        "algorithm_name": f"{spec.kind} {file.stem}",
        "description": flags.command_line,
        "requirements": [f"ambulo=={ambulo.__version__}"],
    }
    with leaving_cleanly():
        print(_record(flags, file, _root(flags.out), identifier, about))
    return 0


def _record(
    flags: RolloutsFlags,
    file: Path,
    root: Path,
    identifier: str,
    about: Mapping[str, Any],
) -> Path:
    """Record the episodes; return the folder of the new data set."""
    # What is missing is reported before models are loaded.
    import h5py  # noqa: F401
    import minari  # noqa: F401

    from ambulo.commands.minari_data import MinariWriter, rollouts
    from ambulo.common.console import bars
    from ambulo.envs.json_spec import json_spec

    agent = ambulo.load(file)
    if not hasattr(agent, "env_settings"):
        raise ModelFileError(
            f"{flags.model}: is a {type(agent).__name__}, which acts in no environment"
        )
    if flags.stochastic:
        import torch

        torch.manual_seed(flags.seed)
    env = ambulo.make_vec(agent, min(flags.num_envs, flags.episodes))
    try:
        writer = MinariWriter(
            root, identifier, env.single_observation_space, env.single_action_space,
            env_spec=json_spec(env.spec), about=about,
        )  # fmt: skip
        episodes = rollouts(
            agent, env, flags.episodes,
            seed=flags.seed, deterministic=not flags.stochastic,
        )  # fmt: skip
        shown = not flags.no_progress
        with writer, bars(40, shown=shown, unit="episodes") as progress:
            task = progress.add_task(identifier, total=flags.episodes)
            for episode in episodes:
                writer.add(episode)
                progress.advance(task)
    finally:
        env.close()
    return writer.folder


def _root(named: str | None) -> Path:
    """Return the folder of data sets."""
    return resolve_path(named or os.environ.get(ROOT_VARIABLE) or DEFAULT_ROOT)
