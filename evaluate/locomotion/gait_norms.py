"""Normal gait: published joint angles and ground forces over the gait cycle, as data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np

from ambulo.configs.arrays import Floats

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
    """What they are called."""
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
