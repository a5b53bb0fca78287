"""Random levels with every kind of shape, for comparisons of worlds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import parse_level

SIDE = 16.0
"""Length and width of a sample level, [m]."""
_START_ROOM = 2.0
"""Distance of movers from the centre, where walks begin, [m]."""


def sample_level(seed: int, *, moving: bool = False) -> Level:
    """A square of `SIDE` with low, tall and hanging shapes, slopes, stairs, terrain and a hole.

    It need not be solvable. A walk begins on the floor at the centre.

    Args:
        seed: Seed of the level.
        moving: Add a door, a sweeping wall, a lift, a cart, two walkers and a crowd of four.
    """
    rng = np.random.default_rng([seed, int(moving)])
    data: dict[str, Any] = {
        "name": f"sample_{seed}",
        "bounds": [-SIDE / 2, -SIDE / 2, SIDE / 2, SIDE / 2],
        "heights": True,
        "boxes": [*_walls(), *(_box(rng) for _ in range(14))],
        "cylinders": [_cylinder(rng) for _ in range(5)],
        "ramps": [_slope(rng, steps=False) for _ in range(2)],
        "stairs": [_slope(rng, steps=True)],
        "heightfields": [_terrain(rng)],
        "meshes": [_rock(rng)],
    }
    x, y = _place(rng)
    data["holes"] = [[x - 0.6, y - 0.6, x + 0.6, y + 0.6]]
    if moving:
        data["movers"] = _movers(rng)
        data["people"] = _people(rng)
    return parse_level(data, f"sample {seed}", solvable=False)


def _place(rng: np.random.Generator, room: float = _START_ROOM) -> tuple[float, float]:
    """A random position away from the centre, [m]."""
    while True:
        x, y = rng.uniform(-SIDE / 2 + 1.5, SIDE / 2 - 1.5, 2).tolist()
        if max(abs(x), abs(y)) > room:
            return x, y


def _walls() -> list[dict[str, Any]]:
    far = SIDE / 2 - 0.1
    sides = ((far, 0.0), (-far, 0.0), (0.0, far), (0.0, -far))
    return [
        {
            "center": [x, y, 1.25],
            "half_size": [0.1 if x else far, 0.1 if y else far, 1.25],
        }
        for x, y in sides
    ]


def _box(rng: np.random.Generator) -> dict[str, Any]:
    """A wall, a curb, a table top, or something overhead."""
    x, y = _place(rng)
    bottom, top = [
        (0.0, rng.uniform(0.6, 2.5)),
        (0.0, rng.uniform(0.03, 0.5)),
        (rng.uniform(0.5, 0.9), 0.95),
        (rng.uniform(1.2, 2.2), 2.4),
    ][int(rng.integers(4))]
    return {
        "center": [x, y, (bottom + top) / 2],
        "half_size": [*rng.uniform(0.1, 1.2, 2).tolist(), (top - bottom) / 2],
        "yaw": float(rng.uniform(-math.pi, math.pi)),
    }


def _cylinder(rng: np.random.Generator) -> dict[str, Any]:
    x, y = _place(rng)
    base = float(rng.choice([0.0, 0.0, rng.uniform(0.5, 2.0)]))
    return {
        "center": [x, y, base],
        "radius": float(rng.uniform(0.1, 0.8)),
        "height": float(rng.uniform(0.1, 2.0)),
    }


def _slope(rng: np.random.Generator, *, steps: bool) -> dict[str, Any]:
    x, y = _place(rng)
    turn, length = rng.uniform(-math.pi, math.pi), rng.uniform(2.0, 4.0)
    height = float(rng.uniform(0.3, 0.55) * length)
    ends = [x + length * math.cos(turn), y + length * math.sin(turn), height]
    row: dict[str, Any] = {
        "from": [x, y, 0.0],
        "to": ends,
        "width": float(rng.uniform(0.8, 2.0)),
    }
    if rng.random() < 0.5:
        row["thickness"] = 0.15
    if steps:
        row["steps"] = math.ceil(height / rng.uniform(0.12, 0.24))
    return row


def _terrain(rng: np.random.Generator) -> dict[str, Any]:
    """Gentle hills whose border is level with the ground."""
    x, y = _place(rng, room=3.5)
    cells, side = 8, 0.4
    heights = np.zeros((cells + 1, cells + 1))
    heights[1:-1, 1:-1] = rng.uniform(0.0, 0.3, (cells - 1, cells - 1))
    corner = [x - cells * side / 2, y - cells * side / 2, 0.0]
    return {"origin": corner, "cell": side, "heights": heights.tolist()}


def _rock(rng: np.random.Generator) -> dict[str, Any]:
    """A pyramid of three sides."""
    x, y = _place(rng)
    turns = rng.uniform(0.0, 2.0) + np.arange(3) * (2.0 * math.pi / 3.0)
    size = rng.uniform(0.5, 1.2)
    foot = [[x + size * math.cos(t), y + size * math.sin(t), 0.0] for t in turns]
    top = [x, y, float(rng.uniform(0.2, 1.5))]
    sides = [[0, 1, 3], [1, 2, 3], [2, 0, 3], [0, 2, 1]]
    return {"vertices": [*foot, top], "triangles": sides}


def _movers(rng: np.random.Generator) -> list[dict[str, Any]]:
    """A door, a sweeping wall, a cart that bodies can stand on, and a lift."""
    (door_x, door_y), (wall_x, wall_y), (cart_x, cart_y), (lift_x, lift_y) = (
        _place(rng, room=3.5) for _ in range(4)
    )
    way, turn = rng.uniform(-3.0, 3.0, (2, 2)), float(rng.uniform(0.0, math.pi))
    return [
        {
            "kind": "door",
            "hinge": [door_x, door_y, 0.0],
            "width": 1.0,
            "yaw": turn,
            "open": float(rng.choice([-1.0, 1.0])) * 1.6,
        },
        {
            "kind": "wall",
            "half_size": [1.0, 0.1, 1.0],
            "path": _shuttle((wall_x, wall_y, 1.0), way[0], turn, speed=0.7),
            "phase": "random",
        },
        {
            "kind": "cart",
            "half_size": [0.7, 0.5, 0.1],
            "path": _shuttle((cart_x, cart_y, 0.1), way[1], turn, speed=0.5),
        },
        {
            "kind": "lift",
            "half_size": [0.8, 0.8, 0.05],
            "path": [
                [0.0, lift_x, lift_y, 0.0, 0.0],
                [2.0, lift_x, lift_y, 0.0, 0.0],
                [6.0, lift_x, lift_y, 2.0, 0.0],
                [8.0, lift_x, lift_y, 2.0, 0.0],
            ],
        },
    ]


def _shuttle(
    start: tuple[float, float, float], way: Floats, yaw: float, speed: float
) -> list[list[float]]:
    """Keyframes of a straight path that stays in the level."""
    x, y, z = start
    room = SIDE / 2 - 1.0
    end = np.clip(np.array([x, y]) + way, -room, room)
    time = max(math.dist(end, (x, y)) / speed, 1.0)
    return [[0.0, x, y, z, yaw], [time, *end.tolist(), z, yaw]]


def _people(rng: np.random.Generator) -> dict[str, Any]:
    routes = [[[*_place(rng), 0.0], [*_place(rng), 0.0]] for _ in range(2)]
    walkers = [{"route": route, "speed": 1.0, "phase": "random"} for route in routes]
    return {"count": 4, "walkers": walkers}
