"""The clips of a motion training: found, parted, prepared, and cut into windows."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ambulo.common.run_folder import RunFolder
from ambulo.configs.errors import MotionError, MotionFileError
from ambulo.configs.motion_nn import MotionRunConfig
from ambulo.evaluate.motion.metrics import HORIZONS_MS, horizon_frames
from ambulo.motion.datasets.clips import Clip, scan_clips
from ambulo.motion.datasets.prepare import prepare_clips
from ambulo.motion.datasets.shards import make_shards
from ambulo.motion.datasets.splits import Split, load_split, make_split
from ambulo.motion.datasets.states import States
from ambulo.motion.datasets.streaming import StreamingMotionDataset
from ambulo.motion.datasets.windows import (
    MotionWindows,
    WindowedDataset,
    WindowOptions,
)
from ambulo.motion.human23 import N_POSITIONS

log = logging.getLogger(__name__)

VALIDATION_STRIDE = 3
"""Frames from one validation window to the next."""
VALIDATION_WINDOWS = 2000
"""Validation windows, at most, evenly drawn."""


def split_file(folder: RunFolder) -> Path:
    """Return the file with the split of a run's data."""
    return folder.path / "split_info.json"


def split_of(
    config: MotionRunConfig, folder: RunFolder, *, strict: bool = False
) -> Split:
    """The run's split: that of its folder, or a new one, which is written there.

    Raises:
        MotionError: a folder is missing or holds too few clips.
        MotionFileError: with `strict`, the first file that cannot be used; a clip of a
            run's own split that is missing or has changed.
    """
    file = split_file(folder)
    if file.is_file():
        return load_split(file, config.data)
    clips, errors = scan_clips(config.data, strict)
    _warn(errors)
    if not clips:
        raise MotionError(
            f"{', '.join(config.data)}: no motion file that can be used "
            f"({len(errors)} cannot)"
        )
    data = config.dataset
    split = make_split(
        clips,
        data.split_by,
        data.test_ratio,
        data.seed,
        data.test_subjects,
        validation_ratio=data.validation_ratio,
    )
    split.save(file, config.data)
    return split


def training_windows(
    config: MotionRunConfig,
    split: Split,
    folder: RunFolder,
    *,
    strict: bool = False,
    processes: int = 1,
) -> WindowedDataset:
    """Windows of the training clips, in memory or streamed from the run's folder."""
    data = config.dataset
    errors: list[MotionFileError] = []
    collected = None if strict else errors
    options = WindowOptions(
        stride=data.stride,
        batch_size=data.batch_size,
        seed=data.seed,
        mirror=data.mirror,
    )
    if data.streaming:
        shards = folder.path / "shards"
        make_shards(
            split.train,
            shards,
            fps=data.fps,
            longest_window=max(config.window, 256),
            shard_mb=data.shard_mb,
            errors=collected,
            processes=processes,
        )
        _warn(errors)
        return StreamingMotionDataset(
            shards,
            window=config.window,
            buffer_mb=data.buffer_mb,
            **options,
        )
    states: list[States] = []
    activities: list[str] = []
    for speed in config.training.speeds:
        prepared = prepare_clips(
            split.train, data.fps / speed, errors=collected, processes=processes
        )
        for clip, rows in prepared:
            states.append(played(rows, speed))
            activities.append(clip.activity)
    _warn(errors)
    return MotionWindows(states, activities, window=config.window, **options)


def validation_windows(
    config: MotionRunConfig, clips: Sequence[Clip], *, processes: int = 1
) -> Tensor:
    """Windows (N, T, 112) of clips that are not trained on: history and one second."""
    fps, history = config.dataset.fps, config.model.history
    length = history + max(horizon_frames(HORIZONS_MS, fps))
    errors: list[MotionFileError] = []
    found = [
        rows[start : start + length]
        for _, rows in prepare_clips(clips, fps, errors=errors, processes=processes)
        for start in range(0, len(rows) - length + 1, VALIDATION_STRIDE)
    ]
    _warn(errors)
    if not found:
        raise MotionError(
            f"no validation clip has {length} frames at {fps:g} Hz; add data, or raise "
            "dataset.validation_ratio"
        )
    kept = np.unique(np.linspace(0, len(found) - 1, VALIDATION_WINDOWS).astype(int))
    return torch.from_numpy(np.stack([found[i] for i in kept]))


def played(states: States, speed: float) -> States:
    """States whose rate was `speed` times lower, taken as if it had not been."""
    if speed == 1.0:
        return states
    rows = states.copy()
    rows[:, N_POSITIONS:] *= speed
    return rows


def _warn(errors: Sequence[MotionFileError]) -> None:
    for error in errors:
        log.warning("left out: %s", error)
