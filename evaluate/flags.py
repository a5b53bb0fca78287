"""Flags of `ambulo eval`: those of all models, and those that kinds of models bring."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass
from functools import cache
from typing import Annotated, Any, Literal

from ambulo.common.command_line import Arg, Flags
from ambulo.common.flag_types import (
    Count,
    Duration,
    NaturalNumber,
    OutPath,
    Seed,
    ending,
    positional,
)
from ambulo.configs.errors import ConfigError
from ambulo.evaluate.kinds import all_kinds


@dataclass(frozen=True, kw_only=True)
class SomeKindsFlags(Flags):
    """Flags of more than one kind of models."""

    title = "for some kinds of models"
    data: Annotated[tuple[str, ...], Arg("FOLDER", repeated=True)] = ()
    """networks of motion, gait and IK: folder of data to test on (repeatable)"""
    no_video: bool = False
    """networks: no film in the report"""
    mean_action: Annotated[bool, Arg(names=("--deterministic",))] = False
    """act with the mean action (default)"""
    stochastic: bool = False
    """act with sampled actions"""
    video: Annotated[
        OutPath | None,
        Arg("FILE", names=("--video", "--record")),
        ending(".mp4", ".gif"),
    ] = None
    """film of one episode, .mp4 or .gif; of a VR agent see --views and --film-with"""
    num_envs: Count | None = None
    """environments at once (default: 64)"""
    seconds: Duration | None = None
    """walkers: length of an episode (default: 20; of a gait policy 10)"""
    push_episodes: NaturalNumber | None = None
    """walkers and gait policies: pushes of each impulse; 0 leaves them out (default: as many
    as episodes, at most 100)"""
    impulses: Annotated[str | None, Arg("LIST")] = None
    """walkers and trackers: impulses of the pushes, [N s], with commas between (default:
    walkers 0 to 90; trackers only the 20 of the main table)"""
    perturb: Annotated[str | None, Arg("NAMES", bare="all")] = None
    """walkers and trackers: also under perturbations, with commas between: friction, mass,
    delay, steps, slopes, start (default: all of them)"""
    backend: Literal["cpu", "warp"] | None = None
    """walkers: what computes the physics: MuJoCo (cpu, default) or MuJoCo Warp"""
    trust_pickle: bool = False
    """let a Stable-Baselines3 zip run its pickle; only for files of your own"""

    def __post_init__(self) -> None:
        """Refuse both ways of acting."""
        super().__post_init__()
        if self.mean_action and self.stochastic:
            raise ConfigError("--deterministic and --stochastic exclude each other")

    @property
    def deterministic(self) -> bool:
        """Whether policies act with their mean action."""
        return not self.stochastic


@dataclass(frozen=True, kw_only=True)
class EvalFlags(SomeKindsFlags):
    """Evaluate a model of any kind beside baselines."""

    model: Annotated[str | None, positional("MODEL")] = None
    """model file, run folder, name of a shipped model, or 'none' (default: the shipped VR
    agent)"""
    episodes: Count | None = None
    baselines: Annotated[str | None, Arg("NAMES")] = None
    """baselines of this kind of model, with commas between, all, or none (default: all)"""
    seed: Seed = 0
    """seed of everything random"""
    json: Annotated[OutPath | None, Arg("FILE", bare="-")] = None
    """scores and episodes as JSON, to FILE or to standard output"""
    output: Annotated[str | None, Arg("FOLDER")] = None
    """folder of report, numbers and pictures; a report that lies there stays, and the new one
    goes to FOLDER/evaluation_2 and so on (default: evaluation_1, evaluation_2, ... in the
    model's run folder or here)"""
    no_report: bool = False
    """no report, no pictures"""


@cache
def all_eval_flags() -> type[EvalFlags]:
    """Return the class of all flags: those of this module and those of every kind."""
    kinds = all_kinds()
    defaults = ", ".join(f"{k.episodes or 'all'} of a {k.name}" for k in kinds)
    text = "episodes, windows, poses or gaits, by the kind of the model (default: "
    episodes: Any = Annotated[Count | None, Arg("N", help=f"{text}{defaults})")]
    own = dict.fromkeys(kind.own for kind in kinds if kind.own is not Flags)
    return make_dataclass(
        "EvalFlags",
        [("episodes", episodes, field(default=None))],
        bases=(EvalFlags, *own),
        frozen=True,
        kw_only=True,
        namespace={"__doc__": EvalFlags.__doc__, "__module__": __name__},
    )
