"""Body trackers: head, hands and more to a whole body, frame by frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ambulo.common.command_line import Arg, Flags
from ambulo.common.flag_types import within
from ambulo.evaluate.shared.eval_kind import EvalKind


@dataclass(frozen=True, kw_only=True)
class BodyTrackerEvalFlags(Flags):
    """Flags of body trackers."""

    title = "for body trackers"
    points: Literal[3, 4, 5, 6] | None = None
    """trackers: head and hands (3, default), and hips (4), feet (5) or both (6)"""
    rate: Annotated[float | None, Arg("HZ"), within(20.0, 500.0)] = None
    """samples per second (default: 60)"""
    noise_mm: Annotated[float | None, Arg("MM"), within(0.0, 100.0)] = None
    """standard deviation of the trackers' positions along each axis (default: 0); their
    rotations shake by 0.17 deg for each mm"""
    uncalibrated: bool = False
    """the wearer's proportions are not known: the tracker finds them"""
    dropout: bool = False
    """also lose one hand for a second every four seconds, and report what it costs"""


KIND = EvalKind(
    kinds=("body_tracker",),
    name="body tracker",
    group="body trackers",
    run="ambulo.evaluate.trackers.command:run",
    episodes=0,
    flags=frozenset({"data", "clips"}),
    baselines="ambulo.evaluate.trackers.baselines:BASELINES",
    own=BodyTrackerEvalFlags,
)
