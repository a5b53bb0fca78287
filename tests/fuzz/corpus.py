"""Valid files of every kind, made by the project itself; the fuzz suite damages them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fixtures.gait_data import write_data
from fixtures.motion import make_walk
from fixtures.motion_texts import DEEPMIMIC
from fixtures.poses import make_poses
from fixtures.random_levels import random_level

import ambulo
from ambulo.configs.base import Config, load_json
from ambulo.configs.errors import LevelError
from ambulo.configs.presets import preset_folders
from ambulo.envs.vr.families import generate
from ambulo.envs.vr.levels.level_io import level_data, load_levels
from ambulo.ik.data.pose_data import load_poses, save_poses
from ambulo.motion.formats.files import read_motion, write_motion
from ambulo.motion.gaits.shards import read_refined
from ambulo.shipped import locate

MODELS = ("vr_navigation", "gait_net", "motion_nn", "muscle_nn_myolegs", "gait_law")
TRAININGS = tuple(preset_folders().values())


@dataclass(frozen=True)
class Kind:
    """One kind of file."""

    name: str
    """Of the kind, with what it is."""
    path: Path
    """A valid file."""
    read: Callable[[Path], Any]
    """What opens it, as the commands do."""


def corpus(folder: Path) -> list[Kind]:
    """Return valid files of all kinds, written to `folder`, and what opens them."""
    return [
        *_models(),
        *_motions(folder),
        *_data(folder),
        *_levels(folder),
        *_configs(folder),
    ]


def _models() -> list[Kind]:
    """Shipped models of several kinds, which this project trained."""
    found = []
    for name in MODELS:
        path = locate(name)
        assert path is not None
        found.append(Kind(f"model {name}", path, ambulo.load))
    return found


def _motions(folder: Path) -> list[Kind]:
    """A short walk in all formats that are written."""
    motion = make_walk()
    found = []
    for ending in ("bvh", "amc", "npz"):
        path = folder / f"walk.{ending}"
        write_motion(path, motion)
        found.append(Kind(f"motion {ending}", path, read_motion))
    frames = folder / "walk.txt"
    frames.write_text(DEEPMIMIC)
    found.append(Kind("motion txt", frames, read_motion))
    skeleton = folder / "walk.asf"
    clip = folder / "walk.amc"
    found.append(Kind("motion asf", skeleton, lambda path: read_motion(clip, asf=path)))
    return found


def _data(folder: Path) -> list[Kind]:
    """Poses and gait shards."""
    poses = folder / "poses.npz"
    save_poses(poses, make_poses(2, 20))
    shard = sorted(write_data(folder / "gait", 12).glob("*.npz"))[0]
    return [
        Kind("poses", poses, load_poses),
        Kind("gait shard", shard, read_refined),
    ]


def _levels(folder: Path) -> list[Kind]:
    """A level of a family, and a small one at random."""
    path = folder / "level.json"
    path.write_text(json.dumps(level_data(generate("rooms", 0))))
    small = folder / "small.json"
    for seed in range(100):
        small.write_text(json.dumps(random_level(np.random.default_rng(seed))))
        with contextlib.suppress(LevelError):
            load_levels(small)
            break
    return [Kind("level", path, load_levels), Kind("small level", small, load_levels)]


def _configs(folder: Path) -> list[Kind]:
    """The default settings of all trainings."""
    found = []
    for presets in TRAININGS:
        kind: type[Config] = presets.config
        path = folder / f"{kind.__name__}.json"
        path.write_text(kind().to_json())

        def read(file: Path, kind: type[Config] = kind) -> Config:
            return load_json(kind, file)

        found.append(Kind(f"settings {kind.__name__}", path, read))
    return found
