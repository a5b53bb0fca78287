"""How bodies walk: strides, symmetry, and mean curves over the gait cycle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.evaluate.locomotion.gait_cycle import (
    JOINTS,
    PERCENT,
    Likeness,
    Strides,
    gait_norms,
    likeness,
    over_cycle,
    strides_of,
    symmetry_index,
)
from ambulo.evaluate.locomotion.recording import Recording

SETTLED = 1.0
"""Time from the start of an episode after which strides count, [s]."""
SIDES = ("left", "right")
StrideValues = dict[str, Floats]
"""Values of S strides: duration, [s]; stance, share of the stride; step_time from the other
foot's strike, [s], where known; length, [m]; force, [body weight], (S, 101), where known;
and the angle of each of `JOINTS`, [deg], (S, 101)."""
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
                joint: asdict(row) for joint, row in self.likeness.items()
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
    feet: tuple[list[StrideValues], list[StrideValues]] = ([], [])
    for body in range(recording.episodes):
        last = int(recording.standing[:, body].sum())
        lowest = recording.lowest[:last, body].astype(np.float64)
        strides = [
            strides_of(lowest[:, k], recording.dt, after=SETTLED) for k in (0, 1)
        ]
        for side, rows in enumerate(feet):
            if len(strides[side]):
                rows.append(_stride_values(recording, body, side, strides))
    if not all(feet):
        return None
    left, right = (
        {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
        for rows in feet
    )
    return _gait(left, right)


def _stride_values(
    r: Recording, body: int, side: int, strides: Sequence[Strides]
) -> StrideValues:
    """Return the values of the strides of a body's foot; `strides` are of both feet."""
    own, other = strides[side], strides[1 - side]
    last = int(r.standing[:, body].sum())
    way, times = np.cumsum(r.moved[:last, body]), r.dt * np.arange(last)
    begin, end = (np.interp(at, times, way) for at in (own.start, own.end))
    angles = np.rad2deg(r.angles[:last, body, side].astype(np.float64))
    forces = [
        over_cycle(r.force[:last, column, side] / r.weight, r.dt, own)
        for column in np.flatnonzero(r.watched == body)
    ]
    return {
        "duration": own.duration,
        "stance": own.stance,
        "step_time": _step_times(own, other),
        "length": end - begin,
        "force": np.concatenate([np.zeros((0, len(PERCENT))), *forces]),
        **{j: over_cycle(angles[:, k], r.dt, own) for k, j in enumerate(JOINTS)},
    }


def _gait(left: StrideValues, right: StrideValues) -> GaitSummary:
    norms = gait_norms()
    both = {name: np.concatenate([left[name], right[name]]) for name in left}
    curves = {joint: both[joint].mean(axis=0) for joint in JOINTS}
    duration, forces = float(both["duration"].mean()), both["force"]
    if not len(forces):
        forces = np.full((1, len(PERCENT)), np.nan)
    return GaitSummary(
        strides=len(both["duration"]),
        cadence=120.0 / duration,
        stride_time=duration,
        stride_length=float(both["length"].mean()),
        stance_share=float(both["stance"].mean()),
        symmetry=_symmetry(left, right),
        curves=curves,
        spread={joint: both[joint].std(axis=0) for joint in JOINTS},
        side_curves={
            f"{side} {joint}": foot[joint].mean(axis=0)
            for side, foot in zip(SIDES, (left, right), strict=True)
            for joint in JOINTS
        },
        force=forces.mean(axis=0),
        force_spread=forces.std(axis=0),
        likeness={j: likeness(curves[j], norms.angles[j]) for j in JOINTS},
    )


def _symmetry(left: StrideValues, right: StrideValues) -> float:
    """Mean symmetry index of stance time, step time and peak force, where known."""
    pairs = [
        [float(foot[name].mean()) if len(foot[name]) else 0.0 for foot in (left, right)]
        for name in ("stance", "step_time")
    ]
    if len(left["force"]) and len(right["force"]):
        pairs.append([float(f["force"].mean(axis=0).max()) for f in (left, right)])
    return float(np.mean([symmetry_index(*pair) for pair in pairs]))


def _step_times(strides: Strides, other: Strides) -> Floats:
    """From the other foot's strike to this one's, where both are known, [s]."""
    times = []
    for strike in strides.start:
        before = other.start[other.start < strike]
        if len(before) and strike - before[-1] < strides.duration.max():
            times.append(strike - before[-1])
    return np.array(times, dtype=np.float64)
