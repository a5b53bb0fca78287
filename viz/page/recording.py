"""Recorded episodes of any kind, in the format of the page's player."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats

LINE_POINTS = 10
"""Number of points of each line."""
_FAR = 32.0
"""Largest distance of line points from the root, [m]."""

Shape = dict[str, Any]
"""A geom: `type` (box, capsule, cylinder, sphere, mesh), `size` (half sizes; radius and half
length), `pos`, `quat` (wxyz), `colour` (0xRRGGBB), `body` (its index; static without one), and
of a mesh `vertices` and `faces`."""


@dataclass(frozen=True)
class Readout:
    """A number shown beside the picture."""

    name: str
    unit: str
    digits: int = 2


@dataclass
class Scene:
    """One episode, frame by frame."""

    name: str
    about: str
    """Description, one sentence."""
    standing: list[Shape] = field(default_factory=list)
    """Static shapes, in the world."""
    view: tuple[Sequence[float], Sequence[float]] | None = None
    """Eye and target of the camera, [m]; None: it follows the root."""
    frames: list[dict[str, Floats]] = field(default_factory=list)
    """For each frame `poses` (B, 7): position [m] and quaternion (wxyz) of each body, the root
    first; `lines` (L, LINE_POINTS, 3) [m] and `values` (L,) in [0, 1], their colours; `bars`
    (A,) in [-1, 1]; and `readouts` (R,)."""


@dataclass
class Recording:
    """Content of one page."""

    picture: str
    """Text description of the picture, for screen readers."""
    dt: float
    """Time between two frames, [s]."""
    shapes: list[Shape]
    """Shapes of the moving bodies."""
    scenes: list[Scene]
    bars: Sequence[str]
    """Names of the bars."""
    readouts: Sequence[Readout]
    colours: tuple[int, int] = (0x2F5FD0, 0xD1242F)
    """Colours of lines with the values 0 and 1."""
    camera: tuple[Sequence[float], Sequence[float]] = (
        (1.2, -3.4, 1.6),
        (0.0, 0.0, 0.85),
    )
    """Eye and target of a camera that follows the root, from the ground below it, [m]."""


def packed(recording: Recording) -> dict[str, bytes]:
    """Return the header, and one array over all frames for each part."""
    rows: dict[str, list[Floats]] = {}
    scenes = []
    for scene in recording.scenes:
        first = len(rows.get("poses", []))
        for frame in scene.frames:
            for name, values in frame.items():
                kept = values
                if name == "lines":
                    away = np.clip(values - frame["poses"][0, :3], -_FAR, _FAR)
                    kept = np.round(1000.0 * away)
                rows.setdefault(name, []).append(np.ravel(kept))
        scenes.append(
            {
                "name": scene.name, "about": scene.about, "view": scene.view,
                "standing": scene.standing, "first": first, "count": len(scene.frames),
            }
        )  # fmt: skip
    arrays: Mapping[str, Any] = {
        name: np.array(values, "<i2" if name == "lines" else "<f4")
        for name, values in rows.items()
    }
    header = {
        "picture": recording.picture, "dt": recording.dt, "shapes": recording.shapes,
        "scenes": scenes, "bars": list(recording.bars), "colours": recording.colours,
        "readouts": [vars(readout) for readout in recording.readouts],
        "widths": {name: array.shape[1] for name, array in arrays.items()},
        "linePoints": LINE_POINTS, "camera": recording.camera,
    }  # fmt: skip
    data = {"recording.header": json.dumps(header).encode()}
    return data | {f"recording.{n}": array.tobytes() for n, array in arrays.items()}


def resampled(path: Floats) -> Floats:
    """Return `LINE_POINTS` points at equal distances along a polyline (n, 3)."""
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    at = np.linspace(0.0, along[-1], LINE_POINTS)
    return np.stack([np.interp(at, along, path[:, axis]) for axis in range(3)], axis=1)
