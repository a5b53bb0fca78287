"""Parts of a level with heights that the plan of one storey shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import ndimage

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.vr.contract import BODY_HEIGHT, CLIMB_HEIGHT
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.surfaces import HeightField, Mesh
from ambulo.envs.vr.survey.floor import Floor, Storey

_SAMPLES = np.linspace(-0.95, 0.95, 7)
_ON_TOP = 0.06
"""Floor this near to the top of a box is the box's, [m]."""
_BESIDE = 1.0
"""Triangles farther from the floor of a storey are not seen, [m]."""
_LEAST = 0.02
"""Least height of an obstacle on a floor, [m]."""
_FACE = np.array([[0, 1, 2], [0, 2, 3]])
_CORNERS = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])


def storey_level(floor: Floor, number: int) -> Level:
    """The level of `floor` without what lies above and below its storey `number`.

    What people walk on becomes triangles, which maps draw below everything else.
    """
    level, storey = floor.level, floor.storeys[number]
    if not level.heights:
        return level
    seen = _StoreyView(floor, storey)
    shown, walked = seen.boxes(level.boxes)
    tops = [_top(row) for row in level.boxes[walked]]
    ground = level.ground and floor.storey_at(np.zeros(1))[0] == number
    start = level.start is not None and _on(floor, number, level.start_height)
    goal = level.goal is not None and _on(floor, number, level.goal_height)
    return replace(
        level,
        boxes=_standing(level.boxes[shown & ~walked]),
        cylinders=_standing_cylinders(level.cylinders[seen.cylinders(level.cylinders)]),
        ramps=level.ramps[seen.slopes(level.ramps)],
        stairs=level.stairs[seen.slopes(level.stairs)],
        heightfields=tuple(f for f in level.heightfields if seen.terrain(f)),
        meshes=(*tops, *seen.meshes(level.meshes)),
        ground=ground,
        holes=level.holes if ground else level.holes[:0],
        start=level.start if start else None,
        goal=level.goal if goal else None,
    )


def _on(floor: Floor, number: int, height: float) -> bool:
    return bool(floor.storey_at(np.array([height]))[0] == number)


def _standing(boxes: Floats) -> Floats:
    """`boxes` (n, 7) down to the ground: maps dash what hangs over the ground."""
    top = boxes[:, 2] + boxes[:, 5]
    bottom = np.minimum(boxes[:, 2] - boxes[:, 5], np.minimum(top, BODY_HEIGHT) - 0.1)
    rows = boxes.copy()
    rows[:, 2], rows[:, 5] = (top + bottom) / 2, (top - bottom) / 2
    return rows


def _standing_cylinders(cylinders: Floats) -> Floats:
    """`cylinders` (n, 5) down to the ground."""
    top = cylinders[:, 3] + cylinders[:, 4]
    bottom = np.minimum(cylinders[:, 4], np.minimum(top, BODY_HEIGHT) - 0.1)
    return np.column_stack([cylinders[:, :3], top - bottom, bottom])


def _top(row: Floats) -> Mesh:
    """The upper face of a box (7,)."""
    xy = _placed(row, _CORNERS)
    return Mesh(np.column_stack([xy, np.full(4, row[2] + row[5])]), _FACE)


def _placed(row: Floats, points: Floats | Ints) -> Floats:
    """Points (n, 2) in half sizes of a box (7,), in the world, shape (n, 2), [m]."""
    cos, sin = np.cos(row[6]), np.sin(row[6])
    own = points * row[3:5]
    turned: Floats = own @ np.array([[cos, sin], [-sin, cos]])
    return turned + row[:2]


class _StoreyView:
    """Which shapes stand on a storey, by the nearest floor of it."""

    def __init__(self, floor: Floor, storey: Storey) -> None:
        """The floor of `storey`, and the nearest one where there is none."""
        self._floor, self._known = floor, storey.owner > 0
        self._z, self._apart = storey.z, np.zeros(storey.z.shape)
        if self._known.any():
            away, at = ndimage.distance_transform_edt(~self._known, return_indices=True)
            self._z, self._apart = storey.z[tuple(at)], away * floor.resolution

    def boxes(self, rows: Floats) -> tuple[Bools, Bools]:
        """Which of `rows` (n, 7) are seen, and which of these people walk on."""
        grid = np.stack(np.meshgrid(_SAMPLES, _SAMPLES), axis=-1).reshape(-1, 2)
        shown, walked = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
        for k, row in enumerate(rows):
            z, known = self._under(_placed(row, grid))
            top = row[2] + row[5]
            walked[k] = bool((known & (np.abs(z - top) <= _ON_TOP)).any())
            shown[k] = walked[k] or self._stands(row[2] - row[5], top, z)
        return shown, walked

    def cylinders(self, rows: Floats) -> Bools:
        """Which of the cylinders `rows` (n, 5) are seen."""
        found = [
            self._stands(row[4], row[4] + row[3], self._under(row[None, :2])[0])
            for row in rows
        ]
        return np.array(found, np.bool_)

    def slopes(self, rows: Floats) -> Bools:
        """Which ramps (n, 8) or stairs (n, 9) are seen: those that people walk on."""
        found = []
        for row in rows:
            share = np.linspace(0.05, 0.95, 15)[:, None]
            points = row[:3] + share * (row[3:6] - row[:3])
            z, known = self._under(points[:, :2])
            found.append((known & (np.abs(z - points[:, 2]) <= CLIMB_HEIGHT)).any())
        return np.array(found, np.bool_)

    def terrain(self, field: HeightField) -> bool:
        """Whether people walk on a terrain."""
        vertices = field.mesh().vertices
        z, known = self._under(vertices[:, :2])
        return bool((known & (np.abs(z - vertices[:, 2]) <= CLIMB_HEIGHT)).any())

    def meshes(self, meshes: tuple[Mesh, ...]) -> list[Mesh]:
        """The triangles that are seen."""
        found = []
        for mesh in meshes:
            corners = mesh.corners()
            low, high = corners[:, :, 2].min(axis=1), corners[:, :, 2].max(axis=1)
            middle = corners[:, :, :2].mean(axis=1)
            (z, _), away = self._under(middle), self._away(middle)
            keep = away <= _BESIDE
            keep &= (low < z + BODY_HEIGHT) & (high > z - _ON_TOP)
            if keep.any():
                found.append(Mesh(mesh.vertices, mesh.triangles[keep]))
        return found

    def _away(self, xy: Floats) -> Floats:
        """Distance of points (n, 2) from the floor, (n,), [m]."""
        points = np.column_stack([xy, np.zeros(len(xy))])
        _, rows, columns = self._floor.cells_at(points)
        return self._apart[rows, columns]

    def _stands(self, bottom: float, top: float, z: Floats) -> bool:
        """Whether a shape from `bottom` to `top` is beside a body on the floors `z`."""
        usual = float(np.median(z))
        return bottom < usual + BODY_HEIGHT and top > usual + _LEAST

    def _under(self, xy: Floats) -> tuple[Floats, Bools]:
        """Height of the nearest floor to points (n, 2), and whether it is right there."""
        points = np.column_stack([xy, np.zeros(len(xy))])
        _, rows, columns = self._floor.cells_at(points)
        return self._z[rows, columns], self._known[rows, columns]
