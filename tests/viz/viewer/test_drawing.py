"""Pictures on the board of a scene, in a server without windows."""

from __future__ import annotations

import io

import imageio.v2 as imageio
import numpy as np
import pytest

from ambulo.viz.viewer.drawing import SceneDrawer
from ambulo.viz.viewer.snapshot import Picture, PictureLayer, Snapshot
from ambulo.viz.viewer.window import open_server, stop_server

pytest.importorskip("viser", reason="needs ambulo[viewer]")
LAYER = "game/picture"


def shot(shade: int) -> Snapshot:
    """A picture of one grey, twice as wide as high."""
    data = io.BytesIO()
    imageio.imwrite(data, np.full((10, 20, 3), shade, np.uint8), format="png")
    return Snapshot(0.0, np.zeros(3), {LAYER: Picture(data.getvalue())})


def test_a_board_shows_the_newest_picture_and_keeps_its_shape() -> None:
    server = open_server(0, "test")
    try:
        drawer = SceneDrawer(server, {LAYER: PictureLayer(height=3.0)})
        drawer.draw(shot(10), follow=True)
        node = drawer._nodes[LAYER]
        assert (node.render_width, node.render_height) == (6.0, 3.0)
        np.testing.assert_allclose(node.position, (0.0, 0.0, 1.5))
        drawer.draw(shot(200), follow=True)
        assert drawer._nodes[LAYER] is node
        assert (node.image == 200).all()
    finally:
        stop_server(server)
