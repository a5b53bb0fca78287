"""Skeletons as capsules: a bone between two points, a ball at each end, a head."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.landmarks import rest_points
from ambulo.motion.skeleton import Skeleton
from ambulo.viz.skeleton_actor import LEFT as ON_LEFT
from ambulo.viz.skeleton_actor import RIGHT as ON_RIGHT
from ambulo.viz.skeleton_actor import actor_of_positions
from ambulo.viz.viewer.links import balls, links
from ambulo.viz.viewer.meshes import cylinder, sphere
from ambulo.viz.viewer.model_geoms import LEFT, NEUTRAL, RIGHT
from ambulo.viz.viewer.snapshot import Layer, MeshLayer, Part

GHOST = (96, 150, 118)


class SkeletonParts:
    """One skeleton's layers, and their instances for positions of its points."""

    def __init__(
        self, skeleton: Skeleton, prefix: str = "body", *, ghost: bool = False
    ) -> None:
        """Capsules of a skeleton.

        Args:
            skeleton: Skeleton of J joints and K tips.
            prefix: First part of the names of its layers.
            ghost: Whether it is shown only for comparison.
        """
        self._prefix, self._ghost = prefix, ghost
        actor = actor_of_positions(skeleton, rest_points(skeleton)[None])
        self._bones, self._head = actor.bones, list(actor.head)
        self._head_radius = actor.head_radius
        self._radii = 0.5 * actor.widths
        shades = {ON_LEFT: LEFT, ON_RIGHT: RIGHT}
        colours = [
            GHOST if ghost else shades.get(int(side), NEUTRAL) for side in actor.sides
        ]
        self._colours = np.array(colours, np.uint8)
        self._ball_radii = np.append(np.tile(self._radii, 2), self._head_radius)
        head = np.array([GHOST if ghost else NEUTRAL], np.uint8)
        self._ball_colours = np.concatenate([np.tile(self._colours, (2, 1)), head])

    def layers(self) -> dict[str, Layer]:
        """The layers, by name."""
        opacity = 0.25 if self._ghost else None
        shadow = not self._ghost
        return {
            f"{self._prefix}/bones": MeshLayer(cylinder(), opacity, shadow=shadow),
            f"{self._prefix}/joints": MeshLayer(sphere(), opacity, shadow=shadow),
        }

    def parts(self, points: Floats) -> dict[str, Part]:
        """Instances for positions of joints, then tips, (J + K, 3), [m]."""
        starts, ends = points[self._bones[:, 0]], points[self._bones[:, 1]]
        head = points[self._head].mean(axis=0) if self._head else points[0]
        places = np.concatenate([starts, ends, head[None]])
        return {
            f"{self._prefix}/bones": links(starts, ends, self._radii, self._colours),
            f"{self._prefix}/joints": balls(
                places, self._ball_radii, self._ball_colours
            ),
        }
