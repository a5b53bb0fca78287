"""Parts of a floor that cannot be reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ambulo.configs.arrays import Floats

GAP_AREA = 2.0
"""Larger parts are never gaps, [m^2]."""
AreaKind = Literal["sealed", "tight", "ride", "gap", "top", "outside"]


@dataclass(frozen=True, eq=False)
class Area:
    """A part of the floor on which a person fits but which cannot be reached."""

    name: str
    """Letter on the plan."""
    kind: AreaKind
    """`sealed`; `tight`: only an exactly centred body gets in; `ride`: only a moving platform
    leads there; `gap`: between furniture; `top`: on top of things; `outside`: beyond the
    outer walls."""
    label: int
    """Its number in `Storey.owner`."""
    area: float
    """Floor area, [m^2]."""
    position: Floats
    """The place in it that is farthest from everything, shape (3,), [m]."""
    box: Floats
    """Bounding rectangle x0, y0, x1, y1, shape (4,), [m]."""
    width: float
    """Diameter of the largest circle of free floor in it, [m]."""
    opening: float | None = None
    """Width of the widest way in, about, [m]; None: less than 0.1 m."""
    opening_position: Floats | None = None
    """The narrowest place of that way, shape (3,), [m]."""
    carrier: str = ""
    """Of a `ride`: the key of the platform in the level file."""
    cause: str = ""
    """What keeps bodies out, if that is known."""


def letters(index: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    head, tail = divmod(index, 26)
    return ("" if head == 0 else letters(head - 1)) + chr(ord("A") + tail)
