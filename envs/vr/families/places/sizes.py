"""Sizes of furniture and fittings, as in makers' catalogues.

Where there is a standard, sizes are its usual ones: door leaves DIN 18101, kitchens EN 1116,
desks EN 527-1, office chairs EN 1335-1, baths EN 232; mattresses are 2.0 m long and 0.9, 1.4,
1.6 or 1.8 m wide. All others are common in catalogues.
"""

from __future__ import annotations

import numpy as np

Size = tuple[float, float, float]
"""Width along the wall, depth from the wall, height, [m]."""

DOORS = (0.8, 0.86, 0.9, 1.0)
"""Clear widths of doors, [m]."""
DOOR_HEIGHT = 2.0
"""Height of a door leaf, [m]."""
LEAF_THICKNESS = 0.04
"""Thickness of a door leaf, [m]."""
INNER_WALLS = (0.1, 0.12, 0.15)
"""Thickness of walls between rooms, [m]."""
TABLE_TOP = 0.03
"""Thickness of a table top, [m]."""
TABLE_LEG = 0.05
"""Side of a table leg, [m]."""
WALKWAY = 0.7
"""Smallest free width that people leave in front of furniture, [m]."""

SIZES: dict[str, tuple[Size, ...]] = {
    "armchair": ((0.80, 0.85, 0.90), (0.70, 0.75, 0.80)),
    "basin": ((0.60, 0.45, 0.85), (0.80, 0.50, 0.85)),
    "bath": ((1.70, 0.75, 0.58), (1.60, 0.70, 0.58)),
    "bed": ((0.95, 2.05, 0.50), (1.45, 2.05, 0.50), (1.65, 2.08, 0.55), (1.85, 2.10, 0.55)),
    "bench": ((1.50, 0.50, 0.45), (1.80, 0.55, 0.85)),
    "bookcase": ((0.80, 0.30, 2.00), (1.20, 0.30, 2.00), (1.60, 0.35, 2.20)),
    "cabinet": ((0.80, 0.42, 1.10), (1.20, 0.42, 0.75), (1.60, 0.45, 0.80)),
    "carton": ((0.40, 0.30, 0.30), (0.60, 0.40, 0.40)),
    "chair": ((0.45, 0.45, 0.88), (0.42, 0.48, 0.82)),
    "checkout": ((2.40, 1.10, 0.90), (3.00, 1.20, 0.90), (1.80, 0.90, 0.95)),
    "clothes_rail": ((1.20, 0.50, 1.50), (1.50, 0.60, 1.50)),
    "coffee_table": ((1.10, 0.60, 0.45), (0.90, 0.90, 0.40), (0.70, 0.70, 0.45)),
    "copier": ((0.65, 0.70, 1.15),),
    "desk": ((1.60, 0.80, 0.74), (1.40, 0.70, 0.74), (1.20, 0.60, 0.74), (1.80, 0.80, 0.74)),
    "dining_table": (
        (1.20, 0.80, 0.74), (1.40, 0.85, 0.75), (1.80, 0.90, 0.75), (2.20, 1.00, 0.75),
    ),
    "dresser": ((1.00, 0.48, 0.80), (1.40, 0.50, 0.80)),
    "freezer": ((2.00, 0.95, 0.90), (2.50, 1.05, 0.90)),
    "fridge": ((0.60, 0.65, 1.85), (0.75, 0.70, 1.90)),
    "kitchen": ((1.80, 0.60, 0.91), (2.40, 0.60, 0.91), (3.00, 0.62, 0.91), (3.60, 0.62, 0.91)),
    "meeting_table": ((1.80, 0.90, 0.74), (2.40, 1.10, 0.74), (3.20, 1.20, 0.74)),
    "nightstand": ((0.45, 0.40, 0.55),),
    "office_chair": ((0.60, 0.60, 0.95), (0.55, 0.55, 1.05)),
    "pallet": ((1.20, 0.80, 0.90), (1.20, 1.00, 1.30)),
    "shelf_double": ((1.00, 0.90, 1.50), (1.00, 1.00, 1.80), (1.25, 1.10, 1.60)),
    "shelf_single": ((1.00, 0.45, 1.80), (1.25, 0.50, 2.10)),
    "shoe_cabinet": ((0.80, 0.25, 1.00), (1.20, 0.30, 0.85)),
    "shower": ((0.90, 0.90, 2.00), (0.80, 0.80, 2.00)),
    "sideboard": ((1.60, 0.40, 0.50), (1.20, 0.40, 0.55), (2.00, 0.42, 0.50)),
    "sofa": ((1.50, 0.85, 0.80), (2.00, 0.90, 0.85), (2.40, 0.95, 0.85)),
    "toilet": ((0.38, 0.68, 0.80),),
    "wardrobe": ((1.00, 0.60, 2.00), (1.50, 0.60, 2.10), (2.00, 0.62, 2.36)),
    "washing_machine": ((0.60, 0.60, 0.85),),
}  # fmt: skip
"""Variants of each piece."""

RADII: dict[str, tuple[float, float, float]] = {
    "bin": (0.15, 0.25, 0.7),
    "bush": (0.35, 0.9, 1.1),
    "column": (0.2, 0.35, 2.5),
    "lamp": (0.12, 0.2, 1.6),
    "lamp_post": (0.06, 0.1, 4.0),
    "mannequin": (0.2, 0.25, 1.8),
    "plant": (0.15, 0.3, 1.2),
    "round_display": (0.35, 0.8, 1.1),
    "round_table": (0.4, 0.65, 0.74),
    "stool": (0.17, 0.2, 0.65),
    "tree": (0.12, 0.35, 5.0),
}
"""Round pieces: smallest and largest radius, height, [m]."""


def size(rng: np.random.Generator, name: str, most: float = np.inf) -> Size:
    """A random variant of `name`, at most `most` [m] wide if there is one."""
    fitting = [s for s in SIZES[name] if s[0] <= most] or [SIZES[name][0]]
    return fitting[int(rng.integers(len(fitting)))]
