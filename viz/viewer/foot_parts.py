"""Feet: lines between the contact spheres of a body, for N copies of it."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.foot_lines import foot_lines
from ambulo.motion.rotations import quat_rotate
from ambulo.viz.viewer.links import links
from ambulo.viz.viewer.meshes import cylinder
from ambulo.viz.viewer.model_geoms import LEFT, RIGHT
from ambulo.viz.viewer.snapshot import Layer, MeshLayer, Part

LAYER = "body/feet"
Colour = tuple[int, ...]


class FootParts:
    """Cylinders between the contact spheres; none for a body without any."""

    def __init__(
        self,
        character: Character,
        copies: int,
        colours: tuple[Colour, Colour] = (LEFT, RIGHT),
    ) -> None:
        """Feet of N copies, with the colours of left and right."""
        lines = foot_lines(character)
        self._some = bool(lines)
        ends = [line.ends for line in lines]
        self._bodies = np.array([[body for body, _ in pair] for pair in ends], np.int64)
        self._offsets = np.array([[offset for _, offset in pair] for pair in ends])
        self._radii = np.tile([line.radius for line in lines], copies)
        shades = [colours[int(line.right)] for line in lines]
        self._colours = np.tile(np.array(shades, np.uint8), (copies, 1))

    def layers(self) -> dict[str, Layer]:
        """The layer, by name."""
        return {LAYER: MeshLayer(cylinder())} if self._some else {}

    def parts(self, xpos: Floats, xquat: Floats) -> dict[str, Part]:
        """Instances for places (N, nbody, 3), [m], and orientations (N, nbody, 4)."""
        if not self._some:
            return {}
        turned = quat_rotate(xquat[:, self._bodies], self._offsets)
        ends = (xpos[:, self._bodies] + turned).reshape(-1, 2, 3)
        return {LAYER: links(ends[:, 0], ends[:, 1], self._radii, self._colours)}
