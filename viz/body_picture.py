"""A picture of a standing body: views from ahead and from the side, with its roles."""

from __future__ import annotations

from os.path import commonprefix
from typing import Any

import mujoco
import numpy as np

from ambulo.common.figures import new_figure, png_of
from ambulo.configs.arrays import Floats
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.body import body_of_joint
from ambulo.motion.roles import SIDES, map_of
from ambulo.viz.body_film import BodyStage

FRAME = (640, 800)
"""Width and height of a view, [px]."""
AHEAD, BESIDE = 165.0, 90.0
"""Azimuths of the camera from ahead and from the right side, [deg]."""
DISTANCE = 1.55
"""Distance of the camera over the body's height or span."""
SIZE, PANES = (13.0, 7.3), ((0.145, 0.375), (0.675, 0.315))
"""Size of the picture, [inches], and left edge and width of both views, as fractions."""
COLOURS = {"left": "#1d4fae", "right": "#b0164f", "": "#333333"}
"""Colours of labels by side."""
SMALL, LONGEST = 8.5, 26
"""Size of labels, [pt], and most characters in one."""
SAID = ("left", "right", "joint")
"""Words of joints' names that labels leave out: their column says the side."""


def body_picture(
    character: Character, pose: Floats, title: str, text: str, *, is_good: bool
) -> bytes:
    """Return a PNG of a body: two views with the joint of each role, and a text.

    Args:
        character: The body.
        pose: MuJoCo's positions. Shape (nq,).
        title: The headline.
        text: The line below.
        is_good: Whether the headline is green instead of red.

    Raises:
        RenderError: No OpenGL on this machine.
    """
    found = map_of(character.skeleton)
    bodies = [body_of_joint(character, joint) for joint in found.joints.values()]
    stage = BodyStage(character.model, character, FRAME)
    try:
        stage.frame(pose, pose[:3])
        points = stage.data.xpos[bodies].copy()
        low, high = points.min(axis=0), points.max(axis=0)
        top = top_of(character.model, stage.data)
        size = max(top, 1.2 * (high[1] - low[1]) * FRAME[1] / FRAME[0])
        middle = np.array([*(0.5 * (low + high))[:2], 0.55 * top])
        views = []
        for azimuth in (AHEAD, BESIDE):
            frame = stage.frame(
                pose, middle, azimuth=azimuth, distance=max(DISTANCE * size, 0.5)
            )
            views.append((frame, stage.pixels(points)))
    finally:
        stage.close()
    figure = new_figure(SIZE)
    panes = [figure.add_axes((left, 0.07, width, 0.845)) for left, width in PANES]
    for axes, (frame, pixels), (_, width) in zip(panes, views, PANES, strict=True):
        axes.imshow(frame, aspect="auto")
        half = 0.5 * FRAME[0] * width / PANES[0][1]
        axes.set_xlim(0.5 * FRAME[0] - half, 0.5 * FRAME[0] + half)
        axes.set_axis_off()
        for (x, y), role in zip(pixels, found.joints, strict=True):
            axes.plot(x, y, "o", ms=4, mec="white", mew=0.8, color=_colour(role))
    _label(
        panes[0], dict(zip(found.joints, views[0][1], strict=True)), _names(character)
    )
    figure.text(
        0.02, 0.955, title, fontsize=14, weight="bold",
        color="#15803d" if is_good else "#b91c1c",
    )  # fmt: skip
    figure.text(0.02, 0.027, text, fontsize=10, color="#333333")
    return png_of(figure)


def top_of(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """Height of the highest point of a body, [m]."""
    top = 0.0
    for geom in range(model.ngeom):
        if model.geom_bodyid[geom]:
            middle, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
            turn = data.geom_xmat[geom].reshape(3, 3)
            height = data.geom_xpos[geom, 2] + turn[2] @ middle
            top = max(top, float(height + np.abs(turn[2]) @ half))
    return top


def _names(character: Character) -> dict[str, str]:
    """Roles without their sides, joints, and the number of further joints of the part."""
    found = map_of(character.skeleton)
    names = {role: character.skeleton.joints[j] for role, j in found.joints.items()}
    start = len(commonprefix(list(names.values())))  # noqa: RUF071
    texts = {}
    for role, name in names.items():
        side, _, limb = role.partition("_")
        part = limb.replace("_", " ") if side in SIDES else role
        others = len(found.chains.get(role, ())) - 1
        words = [word for word in name[start:].split("_") if word not in SAID]
        text = f"{part}: {'_'.join(words) or name}"
        more = f" +{others}" if others > 0 else ""
        room = LONGEST - len(more)
        texts[role] = (text if len(text) <= room else f"{text[: room - 1]}…") + more
    return texts


def _colour(role: str) -> str:
    side = role.partition("_")[0]
    return COLOURS[side if side in SIDES else ""]


def _label(axes: Any, pixels: dict[str, Floats], names: dict[str, str]) -> None:
    """Draw names in two columns beside a view, joined by lines; the body's right is left."""
    width, height = FRAME
    for is_right in (True, False):
        roles = [role for role in pixels if role.startswith("right") == is_right]
        roles.sort(key=lambda role: float(pixels[role][1]))
        gap = 0.036 * height
        rows = np.array([pixels[role][1] for role in roles])
        for _ in range(200):  # overlapping labels push each other apart
            close = np.minimum(np.diff(rows) - gap, 0.0)
            if not close.any():
                break
            rows[:-1] += 0.5 * close
            rows[1:] -= 0.5 * close
        x = -0.03 * width if is_right else 1.03 * width
        axes.text(
            x, 0.04 * height, "right" if is_right else "left", fontsize=SMALL + 1,
            weight="bold", color=COLOURS["right" if is_right else "left"],
            ha="right" if is_right else "left",
        )  # fmt: skip
        for role, row in zip(roles, rows, strict=True):
            axes.annotate(
                names[role], xy=tuple(pixels[role]), xytext=(x, row),
                fontsize=SMALL, color=_colour(role), va="center",
                ha="right" if is_right else "left", annotation_clip=False,
                arrowprops={"arrowstyle": "-", "color": _colour(role), "lw": 0.5},
            )  # fmt: skip
