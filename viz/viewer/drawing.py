"""Snapshots as nodes of viser: built once, then only changes are sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.viz.picture import pixels
from ambulo.viz.viewer.snapshot import (
    Bytes,
    Instances,
    Layer,
    LineLayer,
    Lines,
    MeshLayer,
    Part,
    Picture,
    PictureLayer,
    Snapshot,
)
from ambulo.viz.viewer.stage import Drag

ROOT = "/world"
"""The node of static parts; moving it keeps a body in the middle."""
MOVING = "/moving"
"""The node of moving parts, whose positions are sent relative to the middle."""
_UPRIGHT = (0.5**0.5, -(0.5**0.5), 0.0, 0.0)
"""Rotation (wxyz) of an image, whose axes are right, down and ahead, to an upright one."""


class Mouse(Protocol):
    """Receiver of clicks on layers, and of drags."""

    def clicked(self, layer: str, instance: int, direction: Floats) -> None:
        """Handle a click, whose ray has direction `direction` (3,)."""

    def dragged(self, drag: Drag) -> None:
        """Handle the start or the next move of a drag."""

    def dropped(self) -> None:
        """Handle the end of a drag."""


class SceneDrawer:
    """The scene of one stage on a server, for all its windows."""

    def __init__(
        self, server: Any, layers: Mapping[str, Layer], mouse: Mouse | None = None
    ) -> None:
        """Create nodes without instances; the first snapshot makes them.

        Args:
            server: A `viser.ViserServer`.
            layers: Layers of the stage, which may add others.
            mouse: Receives clicks and drags.
        """
        self._server, self._layers, self._mouse = server, layers, mouse
        self._nodes: dict[str, Any] = {}
        self._shown: dict[str, Part] = {}
        self._given: dict[str, Part] = {}
        self._centre: Floats = np.zeros(3)
        self._root = server.scene.add_frame(ROOT, show_axes=False)
        self._moving = server.scene.add_frame(MOVING, show_axes=False)
        self._hidden: set[str] = set()

    def draw(self, snapshot: Snapshot, *, follow: bool) -> None:
        """Show a snapshot; with `follow`, its centre is above the origin."""
        centre = np.zeros(3)
        if follow:
            centre[:2] = snapshot.centre[:2]
        moved = not np.array_equal(centre, self._centre)
        with self._server.atomic():
            for name in self._nodes.keys() - snapshot.parts.keys():
                self._nodes.pop(name).remove()
                self._shown.pop(name)
                self._given.pop(name)
            for name, part in snapshot.parts.items():
                # Invisible or unchanged parts are not sent.
                same = part is self._given.get(name) and (part.steady or not moved)
                if not same and not self._is_hidden(name):
                    self._given[name] = part
                    self._draw_part(name, part if part.steady else part.moved(-centre))
            if moved:
                self._root.position = -centre
                self._centre = centre

    def _draw_part(self, name: str, part: Part) -> None:
        """Send a part in the coordinates of the windows' scene."""
        # A window may receive the root's position late, but not a part of a message: moving
        # parts are sent relative to the middle.
        if name in self._nodes:
            _update(self._nodes[name], part, self._shown[name])
        else:
            self._nodes[name] = self._made(name, part)
        self._shown[name] = part

    @property
    def centre(self) -> Floats:
        """World point at the origin of the window's scene, [m]. Shape (3,)."""
        return self._centre

    def has(self, layer: str, instance: int) -> bool:
        """Whether an instance is shown now; a window may name one that is gone or invalid."""
        part = self._shown.get(layer)
        return isinstance(part, Instances) and 0 <= instance < len(part.positions)

    def show(self, group: str, visible: bool) -> None:
        """Show or hide all layers of a group, the first part of their names."""
        (self._hidden.discard if visible else self._hidden.add)(group)
        for name, node in self._nodes.items():
            if name.split("/")[0] == group:
                node.visible = visible

    def _is_hidden(self, name: str) -> bool:
        return name.split("/", maxsplit=1)[0] in self._hidden

    def remove(self) -> None:
        """Remove everything from the scene."""
        self._root.remove()
        self._moving.remove()
        self._nodes.clear()

    def _made(self, name: str, part: Part) -> Any:
        """Make the node of a layer."""
        layer, scene = self._layers[name], self._server.scene
        path = f"{ROOT if part.steady else MOVING}/{name}"
        if isinstance(layer, LineLayer):
            assert isinstance(part, Lines)
            return scene.add_line_segments(
                path, part.points.astype(np.float32), _both_ends(part.colours),
                thickness=layer.width,
                thickness_units="world" if layer.in_world else "screen",
            )  # fmt: skip
        if isinstance(layer, PictureLayer):
            assert isinstance(part, Picture)
            image, height = pixels(part.data), layer.height
            return scene.add_image(
                path, image, height * image.shape[1] / image.shape[0], height,
                wxyz=_UPRIGHT, position=(0.0, 0.0, height / 2),
                cast_shadow=False, receive_shadow=False,
            )  # fmt: skip
        assert isinstance(part, Instances)
        assert isinstance(layer, MeshLayer)
        node = scene.add_batched_meshes_simple(
            path, layer.mesh.vertices, layer.mesh.faces,
            batched_wxyzs=part.turns.astype(np.float32),
            batched_positions=part.positions.astype(np.float32),
            batched_scales=part.scales.astype(np.float32),
            batched_colors=part.colours, opacity=layer.opacity, lod="off",
            cast_shadow=layer.shadow, receive_shadow=layer.opacity is None,
        )  # fmt: skip
        if layer.clickable and self._mouse is not None:
            self._listen(node, name, layer, self._mouse)
        return node

    def _listen(self, node: Any, name: str, layer: MeshLayer, mouse: Mouse) -> None:
        """Report clicks on a node, and drags of it, in order."""

        @node.on_click
        async def _(event: Any) -> None:
            if event.instance_index is not None:
                row = int(event.instance_index)
                mouse.clicked(name, row, np.array(event.ray_direction))

        @node.on_drag("left", modifier=layer.drag_key)
        async def _(event: Any) -> None:
            if event.phase == "end":
                mouse.dropped()
            elif event.instance_index is not None:
                centre = self._centre  # the clock's thread replaces it
                start, end, eye = (
                    np.array(place) + centre
                    for place in (
                        event.start_position,
                        event.end_position,
                        event.client.camera.position,
                    )
                )
                mouse.dragged(Drag(name, int(event.instance_index), start, end, eye))


def _update(node: Any, part: Part, before: Part) -> None:
    """Send the differences between two parts of a layer."""
    if isinstance(part, Lines):
        assert isinstance(before, Lines)
        if not np.array_equal(part.points, before.points):
            node.points = part.points.astype(np.float32)
        if not np.array_equal(part.colours, before.colours):
            node.colors = _both_ends(part.colours)
        return
    if isinstance(part, Picture):
        node.image = pixels(part.data)
        return
    assert isinstance(part, Instances)
    assert isinstance(before, Instances)
    for field, prop in (
        ("positions", "batched_positions"),
        ("turns", "batched_wxyzs"),
        ("scales", "batched_scales"),
    ):
        now, old = getattr(part, field), getattr(before, field)
        if now is not old and not np.array_equal(now, old):
            setattr(node, prop, now.astype(np.float32))
    if not np.array_equal(part.colours, before.colours):
        node.batched_colors = part.colours


def _both_ends(colours: Bytes) -> Bytes:
    """Colours of lines (n, 3) as those of their ends, (n, 2, 3)."""
    return np.repeat(colours[:, None], 2, axis=1)
