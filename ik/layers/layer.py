"""One layer: its settings, its fade state, and the checked results of its provider."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import IKError
from ambulo.ik.layers.goals import EffectorGoals
from ambulo.ik.pose import Pose
from ambulo.ik.rig import Rig
from ambulo.ik.solver.targets import Targets

logger = logging.getLogger(__name__)


UNIT = 1e-3
"""Tolerance of quaternions' unit length."""


class LayerKind(IntEnum):
    """Kinds of layers, in the order of application."""

    ADDITIVE = 1
    OVERRIDE = 2
    IK = 3

    @property
    def label(self) -> str:
        """Lower-case name for logs and traces."""
        return self.name.lower()


@dataclass(frozen=True, eq=False)
class Tick:
    """Arguments of a provider."""

    time: float
    """Time of the tick, [s]."""
    dt: float
    """Time since the previous tick, [s]; 0 in the first."""
    number: int
    """Number of the tick, from 1."""
    pose: Pose | None = None
    """For IK layers: the poses below; else None."""
    goals: EffectorGoals | None = None
    """For IK layers: effector goals after the layers below; else None."""


@dataclass(frozen=True, eq=False)
class TimedAnswer:
    """A provider's answer with its time stamp."""

    value: Pose | Targets | EffectorGoals
    time: float
    """Time of the answer, [s], on the clock of the ticks."""
    note: str = ""
    """Problems on the way to a valid answer, for log and trace."""


Answer = Pose | Targets | EffectorGoals | TimedAnswer | None
Provider = Callable[[Tick], Answer]


@dataclass(frozen=True, eq=False)
class PoseLayer:
    """Settings of a layer; times in seconds."""

    name: str
    """Unique name, used in traces."""
    kind: LayerKind
    """Kind of the layer."""
    provider: Provider
    """Function of the tick that returns poses (OVERRIDE), pose differences (ADDITIVE),
    targets or goals (IK)."""
    priority: int = 0
    """Within its kind, layers of higher priority are applied later."""
    weight: float = 1.0
    """Weight when faded in, 0 to 1."""
    mask: Floats | None = field(default=None)
    """Weight of each bone, 0 to 1 (see `ambulo.ik.solver.masks`); None: all 1. Shape (J,)."""
    fade_in: float = 0.2
    """Duration of fading in."""
    fade_out: float = 0.2
    """Duration of fading out after its release."""
    duration: float = np.inf
    """Time after which it releases itself."""
    max_age: float = 0.25
    """Age above which an answer (see `TimedAnswer`) is stale."""

    def __post_init__(self) -> None:
        """Validate the fields; raise `IKError` naming the rule that is broken."""
        if not 0.0 <= self.weight <= 1.0:
            raise IKError(f"layer {self.name}: weight must be 0 to 1")
        times = (self.fade_in, self.fade_out, self.duration, self.max_age)
        if not all(time >= 0.0 for time in times):  # also refuses NaN
            raise IKError(f"layer {self.name}: times must be at least 0")
        if self.mask is None:
            return
        if not isinstance(self.mask, np.ndarray):
            raise IKError(
                f"layer {self.name}: mask: expected an array of a weight a bone"
            )
        if not ((self.mask >= 0) & (self.mask <= 1)).all():
            raise IKError(f"layer {self.name}: mask: weights must be from 0 to 1")

    def mask_of(self, rig: Rig) -> Floats:
        """Return the mask, ones if there is none. Shape (J,)."""
        return np.ones(len(rig)) if self.mask is None else self.mask


class LayerState:
    """Run-time state of a layer: start, release, and the last problem of its provider."""

    def __init__(self, layer: PoseLayer, now: float) -> None:
        self.layer = layer
        self.reason = ""
        self._begin = now
        self._released: float | None = None
        self._from = 0.0
        self._fade_out = layer.fade_out

    def level(self, now: float) -> float:
        """Weight at `now`, fades included, 0 to 1."""
        self._expire(now)
        if self._released is not None:
            past = now - self._released
            left = 1.0 - past / self._fade_out if past < self._fade_out else 0.0
            return self.layer.weight * self._from * left
        return self.layer.weight * self._risen(now)

    def release(self, now: float, fade_out: float | None = None) -> None:
        """Begin to fade out, from the current weight."""
        if self._released is None:
            self._from = self._risen(now)
            self._released = now
            if fade_out is not None:
                self._fade_out = fade_out

    def over(self, now: float) -> bool:
        """Whether it has faded out."""
        self._expire(now)
        return self._released is not None and now - self._released >= self._fade_out

    def checked_answer(
        self,
        tick: Tick,
        wanted: type | tuple[type, ...],
        count: int,
        joints: int,
    ) -> Pose | Targets | EffectorGoals | None:
        """Return the provider's checked answer, or None; logs changes of the reason."""
        value, reason = provider_answer(self.layer.provider, tick, self.layer.max_age)
        if value is not None:
            problem = ""
            if not isinstance(value, wanted):
                problem = (
                    f"a {type(value).__name__} does not fit {self.layer.kind.label}"
                )
            elif len(value) != count:
                problem = f"{len(value)} characters instead of {count}"
            elif isinstance(value, Pose) and value.rotations.shape[1] != joints:
                problem = f"a pose of {value.rotations.shape[1]} joints"
            if problem:
                value, reason = None, problem
        if reason != self.reason:
            logger.warning("layer %s: %s", self.layer.name, reason or "works again")
            self.reason = reason
        return value

    def _risen(self, now: float) -> float:
        past = now - self._begin
        return min(1.0, past / self.layer.fade_in) if self.layer.fade_in > 0 else 1.0

    def _expire(self, now: float) -> None:
        end = self._begin + self.layer.duration
        if self._released is None and now >= end:
            self.release(end)


def provider_answer(
    provider: Provider, tick: Tick, max_age: float
) -> tuple[Pose | Targets | EffectorGoals | None, str]:
    """Return a provider's answer and its note, or None and the reason."""
    note = ""
    try:
        answer: Any = provider(tick)
    except Exception as error:  # a faulty provider must not stop the character
        return None, f"{type(error).__name__}: {error}"
    if isinstance(answer, TimedAnswer):
        age = tick.time - answer.time
        if not age <= max_age:  # also refuses NaN
            # The age is left out: the reason is logged when it changes.
            return None, f"stale: more than {max_age:g} s old, or of no time"
        answer, note = answer.value, answer.note
    reason = _problem(answer)
    return (None, reason) if reason else (answer, note)


def _problem(answer: Pose | Targets | EffectorGoals | None) -> str:
    """Return the problem of an answer; empty if it is valid."""
    if answer is None:
        return "no answer"
    if isinstance(answer, Pose):
        if not (np.isfinite(answer.root).all() and np.isfinite(answer.rotations).all()):
            return "not finite"
        lengths = np.linalg.norm(answer.rotations, axis=-1)
        if np.abs(lengths - 1.0).max(initial=0.0) > UNIT:
            return "a quaternion is not of unit length"
    if isinstance(answer, EffectorGoals) and not (
        np.isfinite(answer.positions).all() and np.isfinite(answer.rotations).all()
    ):
        return "not finite"
    return ""
