"""Small data of gait: sequences whose frames are a known function of the parameters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.gait import gait_space
from ambulo.motion.datasets.gait_refining import RefinedWriter, Sequence
from ambulo.motion.gait_frames import frame_rate
from ambulo.motion.human23 import position_slices, to_sixdof

SPACE = gait_space("human23")


def frames_of(params: np.ndarray) -> np.ndarray:
    """A walk whose swing grows with the stride and whose way is its speed."""
    stride, cadence = params[0], params[1]
    phase = 2.0 * np.pi * np.arange(60) / 30.0
    places = position_slices()
    positions = np.zeros((60, 56))
    positions[:, places["FemurL"].start + 1] = -0.5 * stride * np.sin(phase)
    positions[:, places["FemurR"].start + 1] = 0.5 * stride * np.sin(phase)
    positions[:, places["TibiaL"]] = 0.4 + 0.4 * stride * np.cos(phase)[:, None]
    positions[:, 5] = 0.9 * params[2]
    frames = np.asarray(to_sixdof(positions))
    frames[:, 6] = 1.2 * stride * cadence / 30.0
    return frames


def write_data(
    folder: Path, count: int = 40, *, per_file: int = 12, seed: int = 0
) -> Path:
    """Files of `count` sequences, pairs of which have the same parameters."""
    rng = np.random.default_rng(seed)
    values = np.repeat(SPACE.sample(rng, (count + 1) // 2), 2, axis=0)[:count]
    writer = RefinedWriter(folder, SPACE, "rollout", {}, per_file=per_file)
    writer.add(
        Sequence(
            row,
            frames_of(row),
            float(frame_rate(SPACE, row)),
            f"clip {k}",
            f"person {k % 5}",
        )
        for k, row in enumerate(values)
    )
    writer.close()
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Four files of 40 sequences."""
    return write_data(tmp_path / "data")
