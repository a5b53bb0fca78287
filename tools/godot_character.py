#!/usr/bin/env python3
"""Make docs/images/godot_character.png: the character of the Godot add-on on a walk.

A player walks, stops, turns on the spot and steps aside; the engine draws. Needs
`godot/install_engine.sh --with-gl`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.families import generate
from ambulo.envs.vr.world.cameras import ChaseCamera, chase_path
from ambulo.viz.godot_film import GodotFilm

IMAGE = Path(__file__).resolve().parents[1] / "docs" / "images" / "godot_character.png"
SIZE = (300, 300)
"""Width and height of each picture, [px]."""
FPS = 30.0
SHOWN = (20, 34, 41, 48, 55, 90, 105, 140)
"""Frames that are shown, four in a row."""
CAMERA = ChaseCamera(
    distance=3.2, elevation=-12.0, field_of_view=42.0, ahead=0.0, up=0.9
)
HEADING = 1.1
"""Where the camera looks, [rad]."""


def main(argv: Sequence[str] | None = None) -> int:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=IMAGE)
    parser.add_argument("--engine", help="the Godot program")
    args = parser.parse_args(argv)
    poses = walk()
    camera = chase_path(poses[:, :3], np.full(len(poses), HEADING), CAMERA)
    film = GodotFilm(
        generate("open", 3), poses, WorldSpec(), goal_radius=1.0, size=SIZE, rays=False,
        views={"chase": camera}, frame_time=1.0 / FPS, engine=args.engine,
    )  # fmt: skip
    with film:
        frames = [frame for k, frame in enumerate(film.frames()) if k in SHOWN]
    rows = [np.concatenate(frames[k : k + 4], axis=1) for k in (0, 4)]
    Image.fromarray(np.concatenate(rows)).quantize(128).save(args.out, optimize=True)
    print(args.out)
    return 0


def walk() -> Floats:
    """x, y, z [m] and yaw [rad] of the player, one row a frame, shape (F, 4)."""
    place, rows = np.zeros(3), []
    for k in range(SHOWN[-1] + 1):
        t = k / FPS
        ahead, left, turn = (1.2, 0.0, 0.0) if t < 2.0 else (0.0, 0.0, 1.2)
        if t > 3.5:
            ahead, left, turn = 0.0, 0.5, 0.0
        place[2] += turn / FPS
        c, s = np.cos(place[2]), np.sin(place[2])
        place[:2] += np.array([c * ahead - s * left, s * ahead + c * left]) / FPS
        rows.append([*place[:2], 0.0, place[2]])
    return np.array(rows)


if __name__ == "__main__":
    sys.exit(main())
