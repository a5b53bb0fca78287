"""The geoms of a MuJoCo model as layers of meshes that move with its bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.motion.rotations import quat_multiply, quat_rotate
from ambulo.viz.viewer.meshes import (
    Mesh,
    box,
    cylinder,
    height_field,
    joined,
    model_mesh,
    sphere,
)
from ambulo.viz.viewer.snapshot import Bytes, Instances, MeshLayer, Part

_GEOM = mujoco.mjtGeom
_SEEN_GROUPS = 3
"""Groups of geoms below this are drawn, as in MuJoCo's own viewer."""
_LEAST_ALPHA = 0.05
"""Geoms more transparent than this are not drawn."""
NEUTRAL, LEFT, RIGHT = (217, 219, 224), (46, 97, 201), (194, 23, 92)
"""Colours of bodies in the middle, left and right, as in films."""


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Instances of one mesh that are fixed to bodies."""

    bodies: Ints
    """Bodies, shape (n,)."""
    places: Floats
    """Positions in the frame of the body, [m]. Shape (n, 3)."""
    turns: Floats
    """Orientations in the frame of the body; wxyz. Shape (n, 4)."""
    scales: Floats
    """Scales, shape (n, 3)."""
    colours: Bytes
    """Colours, shape (n, 3)."""


class ModelGeoms:
    """All visible geoms of a model except level planes, for N copies of its bodies."""

    def __init__(
        self,
        model: mujoco.MjModel,
        copies: int = 1,
        *,
        prefix: str = "body",
        colour: tuple[int, int, int] | None = None,
        opacity: float | None = None,
        by_side: bool = True,
        drawn: Literal["all", "world", "bodies"] = "all",
        clickable: bool = True,
        drag_key: Literal["shift"] | None = None,
    ) -> None:
        """Layers of `model`.

        Args:
            model: The model.
            copies: N.
            prefix: First part of the names of its layers.
            colour: Red, green, blue of everything, for a ghost.
            opacity: Opacity of everything; None: as in the model.
            by_side: Colour bodies by the side at the end of their names.
            drawn: Static geoms, moving geoms, or both.
            clickable: Whether clicks on it and drags of it are reported.
            drag_key: Key held in a drag.
        """
        self.copies = copies
        self._prefix, self._opacity = prefix, opacity
        self._ghost, self._clickable = colour is not None, clickable
        self._fixed, self._drag_key = drawn == "world", drag_key
        self._pieces: dict[str, tuple[Mesh, _Pieces]] = {}
        rows: dict[str, list[_Row]] = {}
        parts: dict[int, list[tuple[int, Mesh]]] = {}
        for geom in range(model.ngeom):
            left_out = "world" if model.geom_bodyid[geom] else "bodies"
            if drawn == left_out or not _seen(model, geom):
                continue
            shade = colour or geom_colour(model, geom, by_side=by_side)
            kind = int(model.geom_type[geom])
            if kind in (_GEOM.mjGEOM_MESH, _GEOM.mjGEOM_HFIELD):
                parts.setdefault(int(model.geom_bodyid[geom]), []).append(
                    (geom, _own_mesh(model, geom))
                )
                continue
            for name, offset, scale in _primitives(kind, model.geom_size[geom]):
                row = _Row(geom, offset, scale, shade)
                rows.setdefault(name, []).append(row)
        for name, listed in rows.items():
            self._pieces[name] = _UNIT[name](), _pieces_of(model, listed)
        for body, listed_meshes in parts.items():
            self._add_body_mesh(model, body, listed_meshes, colour, by_side)
        self._stack()

    def layers(self) -> dict[str, MeshLayer]:
        """The layers, by name."""
        return {
            f"{self._prefix}/{name}": MeshLayer(
                mesh,
                self._opacity,
                self._clickable and not self._ghost,
                shadow=not self._ghost,
                drag_key=self._drag_key,
            )
            for name, (mesh, _) in self._pieces.items()
        }

    def parts(self, xpos: Floats, xquat: Floats) -> dict[str, Part]:
        """Instances of the layers at the bodies' poses.

        Args:
            xpos: Positions of bodies in the world, [m]. Shape (N, nbody, 3).
            xquat: Their orientations; wxyz. Shape (N, nbody, 4).
        """
        # All layers at once: most models have many small ones.
        turns = xquat[:, self._bodies]
        places = xpos[:, self._bodies] + quat_rotate(turns, self._places)
        turned = quat_multiply(turns, self._turns)
        found: dict[str, Part] = {}
        for name, (rows, scales, colours) in self._rows.items():
            found[f"{self._prefix}/{name}"] = Instances(
                places[:, rows].reshape(-1, 3), turned[:, rows].reshape(-1, 4),
                scales, colours, steady=self._fixed,
            )  # fmt: skip
        return found

    def body_of(self, layer: str, instance: int) -> tuple[int, int]:
        """Return the copy and the body of an instance of the layer of this name."""
        _, pieces = self._pieces[layer.removeprefix(f"{self._prefix}/")]
        copy, piece = divmod(instance, len(pieces.bodies))
        return copy, int(pieces.bodies[piece])

    def _stack(self) -> None:
        """Concatenate the pieces of all layers."""
        pieces = [one for _, one in self._pieces.values()]
        self._bodies: Ints = np.concatenate(
            [np.zeros(0, np.int64), *(one.bodies for one in pieces)]
        )
        self._places: Floats = np.concatenate(
            [np.zeros((0, 3)), *(one.places for one in pieces)]
        )
        self._turns: Floats = np.concatenate(
            [np.zeros((0, 4)), *(one.turns for one in pieces)]
        )
        edges = np.cumsum([0, *(len(one.bodies) for one in pieces)])
        self._rows = {
            name: (
                slice(int(edges[k]), int(edges[k + 1])),
                np.tile(one.scales, (self.copies, 1)),
                np.tile(one.colours, (self.copies, 1)),
            )
            for k, (name, (_, one)) in enumerate(self._pieces.items())
        }

    def _add_body_mesh(
        self,
        model: mujoco.MjModel,
        body: int,
        listed: list[tuple[int, Mesh]],
        colour: tuple[int, int, int] | None,
        by_side: bool,
    ) -> None:
        """Join the meshes of a body into one, so that it is one message per frame."""
        placed = []
        for geom, mesh in listed:
            turned = quat_rotate(
                np.broadcast_to(model.geom_quat[geom], (len(mesh.vertices), 4)),
                mesh.vertices.astype(np.float64),
            )
            moved = (turned + model.geom_pos[geom]).astype(np.float32)
            placed.append(Mesh(moved, mesh.faces))
        shade = colour or geom_colour(model, listed[0][0], by_side=by_side)
        pieces = _Pieces(
            np.array([body]), np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]),
            np.ones((1, 3)), np.array([shade], np.uint8),
        )  # fmt: skip
        self._pieces[f"mesh_{body}"] = joined(placed), pieces


@dataclass(frozen=True, eq=False)
class _Row:
    """One unit mesh of a geom."""

    geom: int
    offset: Floats
    scale: Floats
    colour: tuple[int, int, int]


def geom_colour(
    model: mujoco.MjModel, geom: int, *, by_side: bool
) -> tuple[int, int, int]:
    """Red, green and blue of a geom: of its material, its own, or that of its side."""
    body = int(model.geom_bodyid[geom])
    if by_side and body:
        side = model.body(body).name[-1:].lower()
        return {"l": LEFT, "r": RIGHT}.get(side, NEUTRAL)
    material = int(model.geom_matid[geom])
    rgba = model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]
    red, green, blue = (255.0 * rgba[:3]).round().astype(int).tolist()
    return red, green, blue


def _seen(model: mujoco.MjModel, geom: int) -> bool:
    plane = model.geom_type[geom] == _GEOM.mjGEOM_PLANE
    visible = model.geom_rgba[geom, 3] > _LEAST_ALPHA
    return bool(visible and not plane and model.geom_group[geom] < _SEEN_GROUPS)


def _own_mesh(model: mujoco.MjModel, geom: int) -> Mesh:
    data = int(model.geom_dataid[geom])
    if model.geom_type[geom] == _GEOM.mjGEOM_HFIELD:
        return height_field(model, data)
    return model_mesh(model, data)


_UNIT = {"spheres": sphere, "cylinders": cylinder, "boxes": box}


def _primitives(kind: int, size: Floats) -> list[tuple[str, Floats, Floats]]:
    """Unit meshes of a geom: name, position along its axes, scale."""
    here = np.zeros(3)
    if kind == _GEOM.mjGEOM_BOX:
        return [("boxes", here, np.array(size))]
    if kind == _GEOM.mjGEOM_SPHERE:
        return [("spheres", here, np.full(3, size[0]))]
    if kind == _GEOM.mjGEOM_ELLIPSOID:
        return [("spheres", here, np.array(size))]
    stem = ("cylinders", here, np.array([size[0], size[0], size[1]]))
    if kind != _GEOM.mjGEOM_CAPSULE:
        return [stem]
    ends = [np.array([0.0, 0.0, sign * size[1]]) for sign in (1.0, -1.0)]
    return [stem, *(("spheres", end, np.full(3, size[0])) for end in ends)]


def _pieces_of(model: mujoco.MjModel, rows: list[_Row]) -> _Pieces:
    geoms = np.array([row.geom for row in rows])
    turns = model.geom_quat[geoms]
    offsets = np.array([row.offset for row in rows])
    return _Pieces(
        bodies=model.geom_bodyid[geoms].astype(np.int64),
        places=model.geom_pos[geoms] + quat_rotate(turns, offsets),
        turns=turns,
        scales=np.array([row.scale for row in rows]),
        colours=np.array([row.colour for row in rows], np.uint8),
    )
