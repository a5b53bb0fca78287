"""How bodies walk: strides, symmetry, and mean curves over the gait cycle."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.evaluate.locomotion.gait_cycle import (
    PERCENT,
    Likeness,
    Strides,
    likeness,
    over_cycle,
    strides_of,
    symmetry_index,
)
from ambulo.evaluate.locomotion.gait_norms import JOINTS, gait_norms
from ambulo.evaluate.locomotion.recording import Recording

SETTLED = 1.0
"""Time from the start of an episode after which strides count, [s]."""
SIDES = ("left", "right")
_TABLE_STEP = 5
"""Step of the curves in the JSON, [%] of the cycle."""


@dataclass(frozen=True, eq=False)
class GaitSummary:
    """The walk of all bodies over the gait cycle."""

    strides: int
    """Strides of both feet that it is made of."""
    cadence: float
    """Steps per minute."""
    stride_time: float
    """[s]."""
    stride_length: float
    """[m]."""
    stance_share: float
    """Share of the stride in which a foot stands; about 0.6 in people."""
    symmetry: float
    """1 for two sides alike: the mean index of stance time, step time and peak force."""
    curves: dict[str, Floats]
    """Mean angle by joint, both sides together, [deg]. Each (101,)."""
    spread: dict[str, Floats]
    """Its standard deviation over strides, [deg]. Each (101,)."""
    side_curves: dict[str, Floats]
    """Mean angle by "left hip" and so on, [deg]. Each (101,)."""
    force: Floats
    """Mean vertical force of a foot, [body weight]. Shape (101,)."""
    force_spread: Floats
    """Its standard deviation over strides. Shape (101,)."""
    likeness: dict[str, Likeness]
    """To the published curves, by joint."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        rows = slice(None, None, _TABLE_STEP)
        curves = {**self.side_curves, **self.curves, "force": self.force}
        return {
            "strides": self.strides,
            "cadence": self.cadence,
            "stride_time": self.stride_time,
            "stride_length": self.stride_length,
            "stance_share": self.stance_share,
            "peak_force": float(self.force.max()),
            "against_norm": {
                joint: {f.name: getattr(row, f.name) for f in fields(row)}
                for joint, row in self.likeness.items()
            },
            "force_against_norm": self._force_against_norm(),
            "curves": {
                "percent": PERCENT[rows].tolist(),
                **{n: np.round(v[rows], 3).tolist() for n, v in curves.items()},
            },
        }

    def _force_against_norm(self) -> dict[str, dict[str, float]]:
        """The vertical force at the published landmarks, [body weight]."""
        norms = gait_norms()
        here = np.interp(norms.force_percent, PERCENT, self.force)
        rows = zip(
            norms.force_names, norms.force_percent, here, norms.force, strict=True
        )
        return {
            name: {"percent": float(at), "force": float(own), "normal": float(normal)}
            for name, at, own, normal in rows
        }


def gait_of(recording: Recording) -> GaitSummary | None:
    """The mean gait cycle of all bodies while they are on their feet.

    None where one of the feet never made a whole stride.
    """
    feet = (_Foot(), _Foot())
    for body in range(recording.episodes):
        last = int(recording.standing[:, body].sum())
        lowest = recording.lowest[:last, body].astype(np.float64)
        strides = [
            strides_of(lowest[:, k], recording.dt, after=SETTLED) for k in (0, 1)
        ]
        for side, foot in enumerate(feet):
            foot.add(recording, body, side, strides[side], strides[1 - side])
    if not all(foot.duration for foot in feet):
        return None
    return _gait(*feet)


@dataclass
class _Foot:
    """What is gathered of one foot; each list has an array a body, strides first."""

    duration: list[Floats] = field(default_factory=list)
    """[s]."""
    stance: list[Floats] = field(default_factory=list)
    """Share of the stride."""
    step_time: list[Floats] = field(default_factory=list)
    """From the other foot's strike to this one's, [s]."""
    length: list[Floats] = field(default_factory=list)
    """[m]."""
    angles: dict[str, list[Floats]] = field(
        default_factory=lambda: {joint: [] for joint in JOINTS}
    )
    """Curves by joint, [deg]."""
    force: list[Floats] = field(default_factory=list)
    """Curves, [body weight]."""

    def add(
        self, r: Recording, body: int, side: int, strides: Strides, other: Strides
    ) -> None:
        """Take in the strides of a body's foot; `other` are those of its other foot."""
        if not len(strides):
            return
        last = int(r.standing[:, body].sum())
        self.duration.append(strides.duration)
        self.stance.append(strides.stance)
        self.step_time.append(_step_times(strides, other))
        way, times = np.cumsum(r.moved[:last, body]), r.dt * np.arange(last)
        ends = (np.interp(at, times, way) for at in (strides.start, strides.end))
        self.length.append(-np.subtract(*ends))
        for k, joint in enumerate(JOINTS):
            angle = np.rad2deg(r.angles[:last, body, side, k].astype(np.float64))
            self.angles[joint].append(over_cycle(angle, r.dt, strides))
        for column in np.flatnonzero(r.watched == body):
            force = r.force[:last, column, side] / r.weight
            self.force.append(over_cycle(force, r.dt, strides))

    def curves(self, joint: str) -> Floats:
        """All strides of a joint, [deg]. Shape (S, 101)."""
        return np.concatenate(self.angles[joint])

    def forces(self) -> Floats:
        """All strides whose force is known, [body weight]. Shape (S, 101)."""
        return np.concatenate([np.zeros((0, len(PERCENT))), *self.force])


def _gait(left: _Foot, right: _Foot) -> GaitSummary:
    norms = gait_norms()
    both = {j: np.concatenate([left.curves(j), right.curves(j)]) for j in JOINTS}
    curves = {joint: rows.mean(axis=0) for joint, rows in both.items()}
    duration = np.concatenate(left.duration + right.duration)
    forces = np.concatenate([left.forces(), right.forces()])
    if not len(forces):
        forces = np.full((1, len(PERCENT)), np.nan)
    return GaitSummary(
        strides=len(duration),
        cadence=120.0 / float(duration.mean()),
        stride_time=float(duration.mean()),
        stride_length=float(np.concatenate(left.length + right.length).mean()),
        stance_share=float(np.concatenate(left.stance + right.stance).mean()),
        symmetry=_symmetry(left, right),
        curves=curves,
        spread={joint: rows.std(axis=0) for joint, rows in both.items()},
        side_curves={
            f"{side} {joint}": foot.curves(joint).mean(axis=0)
            for side, foot in zip(SIDES, (left, right), strict=True)
            for joint in JOINTS
        },
        force=forces.mean(axis=0),
        force_spread=forces.std(axis=0),
        likeness={j: likeness(curves[j], norms.angles[j]) for j in JOINTS},
    )


def _symmetry(left: _Foot, right: _Foot) -> float:
    """Mean symmetry index of stance time, step time and peak force, where known."""
    pairs = [
        (_mean(left.stance), _mean(right.stance)),
        (_mean(left.step_time), _mean(right.step_time)),
    ]
    if len(left.forces()) and len(right.forces()):
        peaks = [float(foot.forces().mean(axis=0).max()) for foot in (left, right)]
        pairs.append((peaks[0], peaks[1]))
    return float(np.mean([symmetry_index(*pair) for pair in pairs]))


def _step_times(strides: Strides, other: Strides) -> Floats:
    """From the other foot's strike to this one's, where both are known, [s]."""
    times = []
    for strike in strides.start:
        before = other.start[other.start < strike]
        if len(before) and strike - before[-1] < strides.duration.max():
            times.append(strike - before[-1])
    return np.array(times, dtype=np.float64)


def _mean(parts: list[Floats]) -> float:
    whole = np.concatenate(parts)
    return float(whole.mean()) if len(whole) else 0.0
