"""The healthy walk, reference of the gait parameters: captured, made symmetric, as data.

`configs/gaits/healthy_walk.json` holds Fourier coefficients: of the root's position (its travel
removed), and of each joint's rotation vector about its mean, with cosines and sines.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.gaits.cycle import Cycle, fourier_waves
from ambulo.motion.rotations import (
    quat_about_mean,
    quat_from_rotvec,
    quat_multiply,
    quat_normalize,
)
from ambulo.motion.skeletons import load_skeleton

HARMONICS = 8
"""Harmonics in the file."""


def healthy_walk(phases: int = 512) -> Cycle:
    """The walk on the canonical human23, at `phases` equal phases."""
    data = _data()
    waves = fourier_waves(phases, len(data["root"]) // 2)
    progress = np.arange(phases)[:, None] / phases
    stride = np.array([data["stride"], 0.0, 0.0])
    turns = np.einsum("pk,kji->pji", waves, np.array(data["turns"]))
    mean = quat_normalize(np.array(data["mean"]))
    return Cycle(
        load_skeleton("human23"),
        float(data["period"]),
        stride,
        waves @ np.array(data["root"]) + progress * stride,
        quat_multiply(mean[None], quat_from_rotvec(turns)),
    )


def walk_data(cycle: Cycle, source: str) -> str:
    """The file of a cycle on human23, as JSON text."""
    mean, turns = quat_about_mean(cycle.rotations)
    waves = fourier_waves(len(cycle), HARMONICS)

    def fitted(values: Floats) -> list[Any]:
        flat = values.reshape(len(cycle), -1)
        result = np.linalg.lstsq(waves, flat, rcond=None)[0]
        rounded: list[Any] = np.round(result.reshape(-1, *values.shape[1:]), 7).tolist()
        return rounded

    data = {
        "source": source,
        "period": cycle.period,
        "stride": round(float(cycle.stride[0]), 7),
        "root": fitted(cycle.root_positions - cycle.progress),
        "mean": np.round(mean, 9).tolist(),
        "turns": fitted(turns),
    }
    return json.dumps(data) + "\n"


@cache
def _data() -> dict[str, Any]:
    text = files("ambulo.configs.gaits").joinpath("healthy_walk.json")
    result: dict[str, Any] = json.loads(text.read_text(encoding="utf-8"))
    return result
