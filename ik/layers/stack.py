"""Layers: base -> additive -> override -> IK -> limits -> one write, every tick.

The base is re-evaluated in every tick and never read back from the character, so that a layer
of weight 0.5 stays half-way. A provider that fails, is late or returns invalid values is
skipped for the tick, with its reason in the log and in the trace.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ambulo.configs.errors import IKError
from ambulo.ik.layers.blending import add, override
from ambulo.ik.layers.continuity import Continuity
from ambulo.ik.layers.goals import EffectorGoals
from ambulo.ik.layers.layer import (
    LayerKind,
    LayerState,
    PoseLayer,
    Provider,
    Tick,
    provider_answer,
)
from ambulo.ik.layers.trace import LayerTrace, TickTrace, change, left_out
from ambulo.ik.layers.transitions import PoseTransition, transition
from ambulo.ik.limits import clamp
from ambulo.ik.pose import Pose, start_pose
from ambulo.ik.rig import Rig
from ambulo.ik.solver.refine import Solution
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets

logger = logging.getLogger(__name__)

Solve = Callable[[Targets, Pose], Solution]

FEET = ("LeftFoot", "RightFoot")
FIRST_STEP = 1.0 / 60.0
"""Time step assumed after the first tick, [s]."""
TRACES = 256
"""Number of traces that are kept."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Result of a tick."""

    pose: Pose
    """Poses of all characters, as written."""
    trace: TickTrace
    """Effect of each layer."""
    solution: Solution | None
    """The solver's answer for the IK layers; None without any. The pose is the same, unless
    a jump is being smoothed (see `ambulo.ik.layers.continuity`)."""


class LayerHandle:
    """Controls one layer of a stack: its state, its weight and its release."""

    def __init__(self, stack: LayerStack, state: LayerState) -> None:
        self._stack = stack
        self._state = state

    @property
    def active(self) -> bool:
        """Whether the layer is in the stack, fading out included."""
        return self._stack.holds(self._state)

    @property
    def reason(self) -> str:
        """Why the layer is left out at present, or its answer's note; else empty."""
        return self._state.reason

    def level(self, now: float) -> float:
        """Weight of the layer, 0 to 1; 0 if it has been removed."""
        return self._state.level(now) if self.active else 0.0

    def release(self, now: float, fade_out: float | None = None) -> None:
        """Fade the layer out, then remove it."""
        self._state.release(now, fade_out)


class LayerStack:
    """Layers of a batch of B characters; not thread-safe."""

    def __init__(
        self,
        rig: Rig,
        base: Provider,
        *,
        write: Callable[[Pose], None] | None = None,
        solve: Solve | None = None,
        held: Sequence[str] = FEET,
        limits: bool = True,
    ) -> None:
        """A stack without layers.

        Args:
            rig: The rig.
            base: The motion below everything: a function of the tick.
            write: Called once in every tick with the finished poses.
            solve: Solves targets from poses, such as `NeuralIKPool.solve`; by default the
                solver of this process.
            held: Rows that IK keeps at the pose below, unless moved.
            limits: Whether the final poses are clamped to the joint limits.
        """
        self.rig = rig
        self.held = tuple(held)
        self.limits = limits
        self.traces: deque[TickTrace] = deque(maxlen=TRACES)
        self._base = base
        self._write = write
        self._solve = NeuralIKSolver(rig).solve if solve is None else solve
        self._states: list[LayerState] = []
        self._continuity = Continuity()
        self._transition: PoseTransition | None = None
        self._good: Pose | None = None
        self._last: Tick | None = None
        self._number = 0
        self._base_reason = ""
        self._ik_reason = ""

    def add(self, layer: PoseLayer, now: float) -> LayerHandle:
        """Insert a layer by kind and priority; it fades in from `now`."""
        if not np.isfinite(now):
            raise IKError(f"layer {layer.name}: time must be finite, got {now}")
        if any(state.layer.name == layer.name for state in self._states):
            raise IKError(f"there is a layer {layer.name!r} already")
        if layer.mask is not None and layer.mask.shape != (len(self.rig),):
            raise IKError(
                f"layer {layer.name}: mask: expected shape ({len(self.rig)},), "
                f"got {layer.mask.shape}"
            )
        state = LayerState(layer, now)
        self._states.append(state)
        # Stable: of equal priorities the later one is applied last.
        self._states.sort(key=lambda s: (s.layer.kind, s.layer.priority))
        return LayerHandle(self, state)

    def holds(self, state: LayerState) -> bool:
        """Return whether a layer is in the stack (for handles)."""
        return state in self._states

    def clear(self) -> None:
        """Remove all layers at once; their handles are inactive from now on."""
        self._states.clear()

    @property
    def layers(self) -> tuple[str, ...]:
        """Names of the layers, in the order in which they are applied."""
        return tuple(state.layer.name for state in self._states)

    def set_base(self, base: Provider, seconds: float = 0.3) -> None:
        """Change the base motion; the jump decays within `seconds`, 0: at once.

        The old motion is not evaluated any more.
        """
        if not 0.0 <= seconds < np.inf:
            raise IKError(f"a change of the base takes 0 s or more, got {seconds:g} s")
        if seconds > 0.0 and self._last is not None:
            at, step = self._last, self._last.dt or FIRST_STEP
            old = self._pair(at, step)
            self._base, self._transition = base, None
            new = self._pair(at, step)
            self._transition = transition(old, new, at.time, step, seconds)
        else:
            self._base, self._transition = base, None

    def tick(self, now: float) -> Frame:
        """One tick at `now`, [s]: all layers, then one write."""
        if not np.isfinite(now):
            raise IKError(f"time must be finite, got {now}")
        if self._last is not None and now <= self._last.time:
            raise IKError(f"time must grow: {now:g} s after {self._last.time:g} s")
        self._number += 1
        dt = 0.0 if self._last is None else now - self._last.time
        tick = Tick(now, dt, self._number)
        traces: list[LayerTrace] = []
        base = pose = self._base_pose(tick, traces)
        pose = self._blended(tick, pose, traces)
        pose, solution = self._with_ik(tick, pose, traces)
        if self.limits:
            inside = clamp(self.rig, pose.rotations)
            limited = Pose(pose.root, inside)
            traces.append(change("limits", "limits", 1.0, pose, limited))
            pose = limited
        if not _finite(pose):
            pose = base
            traces.append(left_out("result", "limits", "not finite: base pose shown"))
            logger.error("tick %d: the result is not finite", self._number)
        self._states = [state for state in self._states if not state.over(now)]
        self._last = tick
        trace = TickTrace(self._number, now, tuple(traces))
        self.traces.append(trace)
        if self._write is not None:
            self._write(pose)
        return Frame(pose, trace, solution)

    def _pair(self, tick: Tick, step: float) -> tuple[Pose, Pose]:
        """Return the base, transition included, at a tick and `step` earlier."""
        earlier = Tick(tick.time - step, step, tick.number)
        now, before = self._base_answer(tick)[0], self._base_answer(earlier)[0]
        if self._transition is None:
            return now, before
        return (
            self._transition.apply(now, tick.time),
            self._transition.apply(before, earlier.time),
        )

    def _base_answer(self, tick: Tick) -> tuple[Pose, str, bool]:
        """Return the base pose, its note, and True.

        If it is invalid: the last valid one, the reason, and False.
        """
        value, reason = provider_answer(self._base, tick, np.inf)
        if isinstance(value, Pose):
            if value.rotations.shape[1] != len(self.rig):
                reason = f"a pose of {value.rotations.shape[1]} joints"
            elif self._good is not None and len(value) != len(self._good):
                reason = f"{len(value)} poses instead of {len(self._good)}"
            else:
                return value, reason, True
        elif value is not None:
            reason = f"expected a pose, got {type(value).__name__}"
        good = start_pose(self.rig) if self._good is None else self._good
        return good, reason, False

    def _base_pose(self, tick: Tick, traces: list[LayerTrace]) -> Pose:
        """Return the base pose with the remaining transition of the last change."""
        pose, reason, valid = self._base_answer(tick)
        if reason != self._base_reason:
            logger.warning("base: %s", reason or "works again")
            self._base_reason = reason
        if valid:
            self._good = pose
            traces.append(change("base", "base", 1.0, pose, pose, reason))
        else:
            traces.append(left_out("base", "base", reason))
        if self._transition is not None:
            smooth = self._transition.apply(pose, tick.time)
            traces.append(change("base", "transition", 1.0, pose, smooth))
            if self._transition.over(tick.time):
                self._transition = None
            pose = smooth
        return pose

    def _blended(self, tick: Tick, pose: Pose, traces: list[LayerTrace]) -> Pose:
        """Apply additive layers, then overrides, in order of priority."""
        for state in self._states:
            layer = state.layer
            if layer.kind is LayerKind.IK:
                continue
            level = state.level(tick.time)
            value = state.checked_answer(tick, Pose, len(pose), len(self.rig))
            if not isinstance(value, Pose):
                traces.append(left_out(layer.name, layer.kind.label, state.reason))
                continue
            weights = level * layer.mask_of(self.rig)
            if level == 0.0:
                above = pose
            elif layer.kind is LayerKind.ADDITIVE:
                above = add(self.rig, pose, value, weights)
            else:
                above = override(pose, value, weights)
            label, note = layer.kind.label, state.reason
            traces.append(change(layer.name, label, level, pose, above, note))
            pose = above
        return pose

    def _log_once(self, reason: str) -> None:
        """Log once why the solver's solution is skipped."""
        if reason != self._ik_reason:
            logger.warning("IK: %s", reason)
        self._ik_reason = reason

    def _with_ik(
        self, tick: Tick, pose: Pose, traces: list[LayerTrace]
    ) -> tuple[Pose, Solution | None]:
        """Solve once for all IK layers together, from the pose below them."""
        states = [s for s in self._states if s.layer.kind is LayerKind.IK]
        if not states:
            self._continuity.forget()
            return pose, None
        reference = Targets.of_pose(self.rig, pose)
        goals = EffectorGoals.at(reference, self.held)
        led: list[tuple[LayerState, float]] = []
        mask = np.zeros(len(self.rig))
        for state in states:
            level = state.level(tick.time)
            looked = Tick(tick.time, tick.dt, tick.number, pose, goals)
            target = state.checked_answer(
                looked, (Targets, EffectorGoals), len(pose), len(self.rig)
            )
            if level == 0.0 and target is not None:
                led.append((state, 0.0))
            elif isinstance(target, EffectorGoals):
                goals = goals.mix(target, level)
                led.append((state, level))
            elif isinstance(target, Targets):
                goals = goals.lead(target, level)
                led.append((state, level))
            else:
                traces.append(left_out(state.layer.name, "ik", state.reason))
                continue
            if level > 0.0:
                mask = np.maximum(mask, state.layer.mask_of(self.rig))
        highest = max((level for _, level in led), default=0.0)
        if highest == 0.0:
            self._continuity.forget()
            traces += [
                change(s.layer.name, "ik", 0.0, pose, pose, s.reason) for s, _ in led
            ]
            return pose, None
        try:
            start = self._continuity.start(pose, tick.dt, highest)
            solution = self._solve(goals.targets(), start)
            if not _finite(solution.pose):
                raise IKError("the solver's answer is not finite")
            if solution.pose.rotations.shape != pose.rotations.shape:
                raise IKError(
                    f"the solver answered poses of shape {solution.pose.rotations.shape}"
                )
        except Exception as error:  # a failing solver must not stop the character
            reason = f"{type(error).__name__}: {error}"
            self._log_once(reason)
            self._continuity.forget()
            traces += [left_out(s.layer.name, "ik", reason) for s, _ in led]
            return pose, None
        self._ik_reason = ""
        reached = np.asarray(solution.reached.all(axis=1))
        above = self._continuity.follow(pose, solution.pose, reached, tick.dt, highest)
        if (mask < 1.0).any():
            above = override(pose, above, mask)
        # One solve serves all IK layers: each trace reports their common change.
        traces += [
            change(s.layer.name, "ik", level, pose, above, s.reason) for s, level in led
        ]
        return above, solution


def _finite(pose: Pose) -> bool:
    return bool(np.isfinite(pose.root).all() and np.isfinite(pose.rotations).all())
