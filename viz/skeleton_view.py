"""Rendering of bodies: cameras (`Camera`), colours (`Theme`) and strokes.

Everything up to the strokes is plain arrays; `draw_actor` and `draw_strokes` put them on
matplotlib axes. Actors are in `skeleton_actor`, films in `skeleton_film`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.viz.skeleton_actor import Actor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Colour = tuple[float, float, float]


def _mixed(colour: Colour, other: Colour, share: float) -> Colour:
    """`colour` mixed with a fraction `share` of `other`."""
    red, green, blue = (
        (1 - share) * a + share * b for a, b in zip(colour, other, strict=True)
    )
    return red, green, blue


def _rgb(code: str) -> Colour:
    """`#rrggbb` as three numbers in [0, 1]."""
    red, green, blue = bytes.fromhex(code.removeprefix("#"))
    return red / 255, green / 255, blue / 255


@dataclass(frozen=True)
class Theme:
    """The colours of a picture."""

    background: Colour
    text: Colour
    grid: Colour
    shadow: Colour
    ghost: Colour
    """Colour of an actor that is shown only for comparison."""
    left: Colour
    middle: Colour
    right: Colour
    contact: Colour
    """Colour of a foot in contact."""


def _theme(**codes: str) -> Theme:
    """Return the theme of `#rrggbb` codes."""
    return Theme(**{name: _rgb(code) for name, code in codes.items()})


LIGHT = _theme(
    background="#f6f5f1", text="#2b2d33", grid="#8f949c", shadow="#6b6f76",
    ghost="#9a9da3", left="#1f77b4", middle="#3b3f48", right="#d9541e",
    contact="#2a9d5c",
)  # fmt: skip
DARK = _theme(
    background="#17191e", text="#d7dae0", grid="#6a7280", shadow="#050608",
    ghost="#7a808a", left="#4cb3ff", middle="#dfe3ea", right="#ff8a4c",
    contact="#54d18c",
)  # fmt: skip
THEMES = {"light": LIGHT, "dark": DARK}


@dataclass(frozen=True)
class Camera:
    """A camera that looks at a target from a direction.

    Its picture is in metres at the target's distance: right and up from the target.
    """

    azimuth: float
    """Direction of the camera from the target: 0 at +X, pi/2 at +Y, [rad]."""
    elevation: float = 0.0
    """Height above the horizon, [rad]."""
    distance: float = np.inf
    """Distance from the target, [m]; infinite: no perspective."""

    def axes(self) -> Floats:
        """Rows right, up and towards the camera in the world. Shape (3, 3)."""
        ca, sa = np.cos(self.azimuth), np.sin(self.azimuth)
        ce, se = np.cos(self.elevation), np.sin(self.elevation)
        return np.array(
            [[-sa, ca, 0.0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]]
        )

    def project(self, points: Floats, target: Floats) -> tuple[Floats, Floats]:
        """Picture coordinates (..., 2) and nearness (...) of world points, [m].

        Args:
            points: World positions, [m]. Shape (..., 3).
            target: Target of the camera, [m]. Shape (3,).
        """
        seen = (points - target) @ self.axes().T
        near = seen[..., 2]
        if not np.isfinite(self.distance):
            return seen[..., :2], near
        # Points behind the camera would be flipped; none is that near in these pictures.
        gap = np.maximum(self.distance - near, 0.05 * self.distance)
        return seen[..., :2] * (self.distance / gap)[..., None], near

    def turned(self, heading: float) -> Camera:
        """The same camera for a character with heading `heading` instead of 0, [rad]."""
        return replace(self, azimuth=self.azimuth + heading)


SIDE = Camera(azimuth=-np.pi / 2)
"""View from the right of a character that faces +X: it walks to the right."""
FRONT = Camera(azimuth=0.0)
"""View from ahead."""
TOP = Camera(azimuth=-np.pi / 2, elevation=np.pi / 2)
"""View from above: +X to the right, +Y up."""
THREE_QUARTER = Camera(azimuth=-np.pi / 4, elevation=0.22, distance=6.0)
"""View from ahead, right and a little above."""


@dataclass(frozen=True, eq=False)
class Strokes:
    """Lines of a picture, the farthest first."""

    segments: Floats
    """Ends in picture coordinates, [m]. Shape (N, 2, 2)."""
    colours: Floats
    """Red, green, blue, opacity in [0, 1]. Shape (N, 4)."""
    widths: Floats
    """Widths, [m]. Shape (N,)."""


def body_strokes(
    actor: Actor,
    frame: int,
    camera: Camera,
    target: Floats,
    theme: Theme = LIGHT,
    *,
    ghost: bool = False,
) -> Strokes:
    """Strokes of a frame's bones; distant ones are paler, feet in contact are coloured."""
    points = actor.positions[frame]
    picture, near = camera.project(points, target)
    depth = near[actor.bones].mean(axis=1)
    order = np.argsort(depth, kind="stable")
    if ghost:
        base = np.tile(
            _mixed(theme.ghost, theme.background, 0.6), (len(actor.bones), 1)
        )
    else:
        sides = (theme.middle, theme.left, theme.right)  # MIDDLE 0, LEFT 1, RIGHT -1
        base = np.array(sides)[actor.sides]
        for foot, bones in enumerate(actor.feet):
            if actor.contacts is not None and actor.contacts[frame, foot]:
                base[list(bones)] = theme.contact
        reach = max(float(np.ptp(depth)), 0.2) if len(depth) else 1.0
        pale = 0.4 * ((depth.max(initial=-np.inf) - depth) / reach)[:, None]
        base = (1.0 - pale) * base + pale * np.array(theme.background)
    opaque = np.ones((len(base), 1))
    return Strokes(
        segments=picture[actor.bones][order],
        colours=np.concatenate([base, opaque], axis=1)[order],
        widths=actor.widths[order],
    )


def shadow_strokes(
    actor: Actor, frame: int, camera: Camera, target: Floats, theme: Theme = LIGHT
) -> Strokes:
    """The shadow of a light straight above, on the ground."""
    flat = actor.positions[frame].copy()
    flat[:, 2] = actor.ground
    picture, _ = camera.project(flat, target)
    # Opaque: overlapping transparent strokes would make every joint a dark spot.
    shade = _mixed(theme.shadow, theme.background, 0.7)
    colours = np.tile([*shade, 1.0], (len(actor.bones), 1))
    return Strokes(picture[actor.bones], colours, 1.6 * actor.widths)


def ground_strokes(
    camera: Camera,
    target: Floats,
    theme: Theme = LIGHT,
    *,
    height: float = 0.0,
    radius: float = 3.0,
    step: float = 0.5,
) -> Strokes:
    """A grid on the ground, at whole multiples of `step`, that fades with the distance.

    Args:
        camera: The camera.
        target: Target of the camera, [m]. Shape (3,); the grid's middle is below.
        theme: The colours.
        height: Height of the ground, [m].
        radius: Radius at which the grid has faded, [m].
        step: Distance between lines, [m].
    """
    centre = target[:2]
    count = int(np.ceil(radius / step))
    pieces = np.linspace(-radius, radius, 8 * count + 1)
    lines = []
    for axis in (0, 1):
        first = np.round(centre[axis] / step)
        for k in range(-count, count + 1):
            line = np.full((len(pieces), 3), height)
            line[:, axis] = (first + k) * step
            line[:, 1 - axis] = centre[1 - axis] + pieces
            lines.append(np.stack([line[:-1], line[1:]], axis=1))
    world = np.concatenate(lines)
    away = np.linalg.norm(world.mean(axis=1)[:, :2] - centre, axis=1)
    opacity = np.clip(1.0 - away / radius, 0.0, 1.0)
    seen = opacity > 0.01
    picture, _ = camera.project(world[seen], target)
    colours = np.empty((len(picture), 4))
    colours[:, :3], colours[:, 3] = theme.grid, 0.75 * opacity[seen]
    return Strokes(picture, colours, np.full(len(picture), 0.004))


def draw_strokes(
    ax: Axes,
    strokes: Strokes,
    *,
    shift: Sequence[float] = (0.0, 0.0),
    zorder: float = 2.0,
) -> None:
    """Put strokes on axes whose units are metres and whose limits are set."""
    from matplotlib.collections import LineCollection

    ax.add_collection(
        LineCollection(
            list(strokes.segments + np.asarray(shift)),
            colors=strokes.colours.tolist(),
            linewidths=(strokes.widths * points_per_metre(ax)).tolist(),
            capstyle="round",
            zorder=zorder,
        ),
        autolim=False,
    )


def draw_actor(
    ax: Axes,
    actor: Actor,
    frame: int,
    camera: Camera,
    target: Floats,
    theme: Theme = LIGHT,
    *,
    ghost: bool = False,
    shift: Sequence[float] = (0.0, 0.0),
) -> None:
    """Draw one frame of an actor, with its head, on axes in metres.

    Args:
        ax: Axes with limits and position in the figure.
        actor: The actor.
        frame: Index of the frame.
        camera: The camera.
        target: Target of the camera, [m]. Shape (3,).
        theme: The colours.
        ghost: Pale and without colours, for comparison.
        shift: Position of the target on the axes, [m].
    """
    from matplotlib.patches import Circle

    strokes = body_strokes(actor, frame, camera, target, theme, ghost=ghost)
    draw_strokes(ax, strokes, shift=shift, zorder=2.0 if ghost else 3.0)
    if actor.head:
        middle = actor.positions[frame][list(actor.head)].mean(axis=0)
        centre = camera.project(middle, target)[0] + np.asarray(shift)
        colour = theme.middle
        if ghost:
            colour = _mixed(theme.ghost, theme.background, 0.6)
        circle = Circle(
            (float(centre[0]), float(centre[1])), actor.head_radius, fc=colour,
            ec=theme.background, lw=0.8, zorder=2.1 if ghost else 3.1,
        )  # fmt: skip
        ax.add_patch(circle)


def points_per_metre(ax: Axes) -> float:
    """Printer's points per metre of the axes."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    width = ax.get_position().width * figure.get_size_inches()[0] * 72.0
    low, high = ax.get_xlim()
    return float(width / abs(high - low))
