"""Gait cycles: when feet strike and leave the ground, curves over the cycle, normal ones.

A cycle runs from a foot's strike to its next one. Between control steps, the moments are
found by interpolating the height of the sole.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.locomotion.body import CONTACT_HEIGHT

PERCENT: Floats = np.linspace(0.0, 100.0, 101)
"""Places in the cycle at which curves are sampled, [%]."""
MIN_SWING = 0.15
"""A foot that is up for less long did not step, [s]."""
STRIDE_TIMES = (0.4, 2.5)
"""Shortest and longest time between strikes of a foot that counts as a stride, [s]."""


@dataclass(frozen=True, eq=False)
class Strides:
    """The strides of one foot; arrays over S strides."""

    start: Floats
    """The strike that begins it, [s]. Shape (S,)."""
    lift: Floats
    """When the foot leaves the ground, [s]. Shape (S,)."""
    end: Floats
    """The strike that ends it, [s]. Shape (S,)."""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def duration(self) -> Floats:
        """[s]. Shape (S,)."""
        return self.end - self.start

    @property
    def stance(self) -> Floats:
        """Share of the stride in which the foot stands. Shape (S,)."""
        return (self.lift - self.start) / self.duration


def strides_of(heights: Floats, dt: float, *, after: float = 0.0) -> Strides:
    """The strides in the height of a foot's lowest point over the ground.

    Args:
        heights: [m]. Shape (T,).
        dt: Time between the samples, [s]; the first is at time 0.
        after: Strides that begin earlier are left out, [s].
    """
    lifts, strikes = _events(heights, dt)
    rows = []
    for start, end in pairwise(strikes):
        between = lifts[(lifts > start) & (lifts < end)]
        inside = STRIDE_TIMES[0] <= end - start <= STRIDE_TIMES[1]
        if inside and len(between) and start >= after:
            rows.append((start, between[-1], end))
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return Strides(table[:, 0], table[:, 1], table[:, 2])


def over_cycle(values: Floats, dt: float, strides: Strides) -> Floats:
    """Series (T,) over each stride at `PERCENT`. Shape (S, 101)."""
    times = dt * np.arange(len(values))
    at = strides.start[:, None] + strides.duration[:, None] * PERCENT / 100.0
    return np.asarray(np.interp(at.ravel(), times, values).reshape(at.shape))


@dataclass(frozen=True)
class Likeness:
    """How a mean curve lies to a published band; angles in [deg]."""

    rms: float
    """Root mean square of the difference of the means."""
    offset: float
    """Mean of the difference: where the zero of the angle is another, or a posture."""
    rms_shape: float
    """Root mean square after the offset is taken off."""
    inside: float
    """Fraction of the cycle within two standard deviations of the mean."""
    inside_shape: float
    """`inside` after the offset is removed."""
    range: float
    """Largest minus smallest angle."""
    normal_range: float
    """Range of the published mean."""


def likeness(curve: Floats, band: Band) -> Likeness:
    """Compare a mean curve (101,), [deg], with a published one."""
    mean, sd = band.at(PERCENT)
    gap = curve - mean
    offset = float(gap.mean())
    shape = gap - offset
    return Likeness(
        rms=float(np.sqrt(np.mean(gap**2))),
        offset=offset,
        rms_shape=float(np.sqrt(np.mean(shape**2))),
        inside=float(np.mean(np.abs(gap) <= 2.0 * sd)),
        inside_shape=float(np.mean(np.abs(shape) <= 2.0 * sd)),
        range=float(np.ptp(curve)),
        normal_range=float(np.ptp(mean)),
    )


def symmetry_index(left: float, right: float) -> float:
    """1 for two sides alike, 0 where one is at least three times the other.

    One minus the difference over the mean: the symmetry index of R. Robinson, W. Herzog
    and B. Nigg, Journal of Manipulative and Physiological Therapeutics 10(4), 1987.
    """
    mean = 0.5 * (left + right)
    return max(0.0, 1.0 - abs(left - right) / mean) if mean > 0.0 else 0.0


def _events(heights: Floats, dt: float) -> tuple[Floats, Floats]:
    """When the foot leaves the ground, and when it strikes, [s]."""
    up = heights > CONTACT_HEIGHT
    edges = np.flatnonzero(np.diff(up.astype(np.int64))) + 1
    bounds = np.concatenate([[0], edges, [len(up)]])
    lifts, strikes = [], []
    for begin, end in pairwise(bounds):
        if not up[begin : begin + 1].any() or (end - begin) * dt < MIN_SWING:
            continue
        if begin > 0:
            lifts.append(_crossing(heights, int(begin)))
        if end < len(up):
            strikes.append(_crossing(heights, int(end)))
    return dt * np.array(lifts, np.float64), dt * np.array(strikes, np.float64)


def _crossing(heights: Floats, row: int) -> float:
    """Row, with fraction, between `row - 1` and `row` where the contact height is crossed."""
    before, after = heights[row - 1], heights[row]
    return float(row - 1 + (CONTACT_HEIGHT - before) / (after - before))


FILE = "gait_norms.json"
"""The data, in `ambulo.configs`; each table names its source."""
JOINTS = ("hip", "knee", "ankle")
"""Joints with a published curve."""


@dataclass(frozen=True, eq=False)
class Band:
    """The normal course of one angle: mean and standard deviation between people."""

    percent: Floats
    """Places in the gait cycle, [%]. Shape (P,)."""
    mean: Floats
    """[deg]. Shape (P,)."""
    sd: Floats
    """[deg]. Shape (P,)."""

    def at(self, percent: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation at places in the cycle (n,), each (n,), [deg]."""
        mean = np.interp(percent, self.percent, self.mean)
        return mean, np.interp(percent, self.percent, self.sd)


@dataclass(frozen=True, eq=False)
class GaitNorms:
    """Everything that is known of normal walking here."""

    angles: dict[str, Band]
    """By joint; flexion and dorsiflexion are positive."""
    angle_source: str
    """Where they come from."""
    force_percent: Floats
    """Landmarks of the vertical ground force in the gait cycle, [%]. Shape (L,)."""
    force: Floats
    """Their values, [body weight]. Shape (L,)."""
    force_names: tuple[str, ...]
    """Their names."""
    force_source: str
    """Where they come from."""


@lru_cache(maxsize=1)
def gait_norms() -> GaitNorms:
    """The shipped tables."""
    text = files("ambulo.configs").joinpath(FILE).read_text(encoding="utf-8")
    data = json.loads(text)
    angles, force = data["angles"], data["force"]
    percent = np.array(angles["percent"], dtype=np.float64)
    bands = {
        joint: Band(
            percent,
            np.array(angles["curves"][joint]["mean"], dtype=np.float64),
            np.array(angles["curves"][joint]["sd"], dtype=np.float64),
        )
        for joint in JOINTS
    }
    return GaitNorms(
        angles=bands,
        angle_source=f"{angles['source']} ({angles['subjects']})",
        force_percent=np.array(force["percent"], dtype=np.float64),
        force=np.array(force["value"], dtype=np.float64),
        force_names=tuple(force["names"]),
        force_source=f"{force['source']} ({force['spread']})",
    )
