"""Conversion between the axes and units of files and ours (metres, Z up, facing +X, left +Y).

Files of the CMU tradition (ASF/AMC, BVH) have Y up and the character facing +Z, so its left is
+X. Ours is then a cyclic permutation: file X is our Y, Y is our Z, Z is our X. Angles keep
their values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError, nearest

Vec3 = tuple[float, float, float]

INCH = 0.0254
"""One inch, [m]."""
ASF_UNIT = INCH / 0.45
"""The unit of CMU's files, [m]: an inch divided by their `:units length`."""
UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inch": INCH, "asf": ASF_UNIT}
"""Metres in one unit of length, by name; "asf" is that of CMU's ASF files."""
REACH = 1.3
"""Approximate distance along the bones from an adult's hips to the finger tips, [m]."""

_DIRECTIONS = {
    sign + axis: (i, -1.0 if sign == "-" else 1.0)
    for sign in ("", "+", "-")
    for i, axis in enumerate("XYZ")
}


@dataclass(frozen=True)
class Axes:
    """The up and forward directions of a file, such as "Y" and "Z" or "Z" and "-Y"."""

    up: str = "Y"
    """Direction in the file against gravity: an axis, with a sign if negative."""
    forward: str = "Z"
    """Direction in the file that a character at rest faces."""

    def __post_init__(self) -> None:
        """Refuse anything but a pair of different axes."""
        for name, value in (("up", self.up), ("forward", self.forward)):
            if value not in _DIRECTIONS:
                raise MotionError(
                    f"{name} {value!r} is no axis{nearest(value, _DIRECTIONS)}"
                )
        if self.up[-1] == self.forward[-1]:
            raise MotionError(
                f"up {self.up!r} and forward {self.forward!r} lie on one axis"
            )

    @cached_property
    def matrix(self) -> Floats:
        """Our vector is `matrix` times the file's vector; a proper rotation. (3, 3)."""
        rows = np.zeros((3, 3))
        for row, name in ((0, self.forward), (2, self.up)):
            axis, sign = _DIRECTIONS[name]
            rows[row, axis] = sign
        rows[1] = np.cross(rows[2], rows[0])
        return rows

    @cached_property
    def letters(self) -> dict[str, tuple[str, float]]:
        """Our axis of each file axis, and the sign of angles about it."""
        result = {}
        for axis, letter in enumerate("XYZ"):
            ours = int(np.argmax(np.abs(self.matrix[:, axis])))
            result[letter] = ("XYZ"[ours], float(self.matrix[ours, axis]))
        return result

    @cached_property
    def file_letters(self) -> dict[str, tuple[str, float]]:
        """The file's axis of each of ours, and the sign of angles about it."""
        return {ours: (theirs, s) for theirs, (ours, s) in self.letters.items()}

    def to_ours(self, vectors: Floats) -> Floats:
        """Vectors (..., 3) of the file in our axes; exact."""
        return _permuted(vectors, self.matrix)

    def to_file(self, vectors: Floats) -> Floats:
        """Our vectors (..., 3) in the file's axes; exact."""
        return _permuted(vectors, self.matrix.T)

    def quat_to_ours(self, quats: Floats) -> Floats:
        """Rotations (..., 4), wxyz, of the file about our axes; exact."""
        return np.concatenate([quats[..., :1], self.to_ours(quats[..., 1:])], axis=-1)

    def quat_to_file(self, quats: Floats) -> Floats:
        """Rotations (..., 4), wxyz, about the file's axes; exact."""
        return np.concatenate([quats[..., :1], self.to_file(quats[..., 1:])], axis=-1)

    def order_to_ours(self, order: str) -> tuple[str, Floats]:
        """A rotation order in our letters, and the signs (len(order),) of its angles."""
        pairs = [self.letters[letter] for letter in order]
        return "".join(ours for ours, _ in pairs), np.array([s for _, s in pairs])

    def order_to_file(self, order: str) -> tuple[str, Floats]:
        """A rotation order in the file's letters, and the signs of its angles."""
        pairs = [self.file_letters[letter] for letter in order]
        return "".join(theirs for theirs, _ in pairs), np.array([s for _, s in pairs])


CMU_AXES = Axes()
"""Y up, facing +Z: ASF/AMC and BVH."""


def parse_axes(text: str) -> Axes:
    """The axes that `text` names: "y-up", "z-up", ..., or two letters, up and forward.

    "y-up" is the convention of BVH (forward Z), "z-up" that of Blender (forward -Y), "x-up" has
    Y forward; "Z,X" and "-Y,Z" name both.

    Raises:
        MotionError: The text names no axes.
    """
    upper = text.strip().upper()
    up, _, after = upper.partition("-UP") if upper.endswith("-UP") else ("", "", "")
    if up in _DIRECTIONS and not after:
        return Axes(up, {"Y": "Z", "Z": "-Y", "X": "Y"}[up[-1]])
    parts = upper.replace(",", " ").split()
    if len(parts) != 2 or not set(parts) <= set(_DIRECTIONS):
        raise MotionError(
            f"axes {text!r}: expected y-up, z-up, x-up, or the directions up and forward, "
            "such as Z,X"
        )
    return Axes(*parts)


def metres_per_unit(units: str | float) -> float:
    """Metres in one of `units`: a name of `UNITS`, or a number above 0."""
    if isinstance(units, str):
        if units in UNITS:
            return UNITS[units]
        hint = nearest(units, UNITS)
        try:
            units = float(units)
        except ValueError:
            raise MotionError(
                f"units {units!r} is no unit of length{hint}; "
                "a number of metres is allowed"
            ) from None
    if not (np.isfinite(units) and 0.0 < units < 1e6):
        raise MotionError(f"units must be a number of metres above 0, got {units}")
    return float(units)


def likely_units(reach: float) -> str:
    """The name of the unit in which `reach` is nearest to an adult's `REACH`.

    `reach` is the longest path along the bones from the root to a tip. It does not change
    with the pose, and the rest pose of a file need not be upright. Neighbouring units
    differ by 2.2 or more, so every reach from 0.9 m to 1.9 m gives one unit.
    """
    if not (np.isfinite(reach) and reach > 0.0):
        return "cm"
    return min(UNITS, key=lambda name: abs(np.log(reach * UNITS[name] / REACH)))


def vec3(vector: Floats) -> Vec3:
    """The three numbers of `vector` (3,)."""
    x, y, z = vector.tolist()
    return x, y, z


def longest_path(parents: tuple[int, ...], offsets: Floats, ends: Floats) -> float:
    """The longest path from the root along the bones, in the unit of `offsets`.

    Args:
        parents: The parent of each joint, -1 for the root.
        offsets: Each joint from its parent. Shape (J, 3).
        ends: Length that a tip adds at each joint. Shape (J,).
    """
    lengths = np.linalg.norm(offsets, axis=1)
    distances = np.zeros(len(parents))
    for joint, parent in enumerate(parents[1:], start=1):
        distances[joint] = distances[parent] + lengths[joint]
    return float((distances + ends).max())


def _permuted(vectors: Floats, matrix: Floats) -> Floats:
    """`matrix`, a signed permutation, times `vectors` (..., 3), without any rounding."""
    source = np.argmax(np.abs(matrix), axis=1)
    signs = matrix[np.arange(3), source]
    out: Floats = vectors[..., source]
    return out if (signs > 0.0).all() else out * signs
