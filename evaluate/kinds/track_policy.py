"""Policies that track any of many clips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ambulo.common.command_line import Arg, Flags
from ambulo.evaluate.shared.eval_kind import EvalKind


@dataclass(frozen=True, kw_only=True)
class TrackerEvalFlags(Flags):
    """Flags of policies that track clips."""

    title = "for policies that track clips"
    clips: Annotated[tuple[str, ...], Arg("PATH", repeated=True)] = ()
    """motion file, fitted reference (`ambulo fit`) or folder of them (repeatable; default:
    the clip in the model file). Motion files are shown as captured"""
    frames: Annotated[str | None, Arg("A:B")] = None
    """of the one motion file: frames A to B - 1, counted from 0 (default: all)"""
    as_captured: bool = False
    """show fitted clips as they were captured"""


KIND = EvalKind(
    kinds=("track_policy",),
    name="tracker",
    group="trackers",
    run="ambulo.evaluate.tracking.command:run",
    episodes=0,
    flags=frozenset({"stochastic", "num_envs", "video", "impulses", "perturb"}),
    baselines="ambulo.evaluate.tracking.command:BASELINES",
    own=TrackerEvalFlags,
)  # fmt: skip
