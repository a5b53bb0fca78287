"""Films of simulated bodies: MuJoCo without a window, a chequered floor, a camera beside.

The camera goes along at the side of the body. What is drawn is the model itself with
colours of its own, so every character can be filmed.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import mujoco
import numpy as np
from scipy.ndimage import gaussian_filter1d

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import RenderError
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.foot_lines import foot_lines
from ambulo.envs.offscreen import Frame, Offscreen
from ambulo.envs.vr.world.render import add_line, write_video

SIZE = (640, 480)
"""Width and height of a film, [px]."""
RATES = {".mp4": 30.0, ".gif": 15.0}
"""Most frames a second."""
SIDE, ELEVATION, DISTANCE = 65.0, -10.0, 3.4
"""The camera: its line of sight from the heading, its slope, [deg], and how far, [m]."""
SMOOTHING = 0.4
"""Standard deviation of the smoothing of the camera's way, [s]."""
TILE, REACH = 0.5, 18
"""Size of a tile of the floor, [m], and how many are drawn to each side."""
_LIGHT, _DARK = (0.93, 0.94, 0.95, 1.0), (0.80, 0.83, 0.87, 1.0)
_BODY, _LEFT, _RIGHT = (0.85, 0.86, 0.88), (0.18, 0.38, 0.79), (0.76, 0.09, 0.36)
_SKY = (226, 232, 240)
_EXTRA_GEOMS = (2 * REACH + 1) ** 2 + 80


def write_gait_film(
    path: Path, model: mujoco.MjModel, character: Character, poses: Floats, dt: float
) -> Path:
    """Write an .mp4 or .gif of one body, in real time, whole or not at all.

    Args:
        path: The file; its ending chooses the format.
        model: The body in its world.
        character: Which body it is.
        poses: Its positions. Shape (T, nq).
        dt: Time between them, [s].

    Raises:
        RenderError: another ending, no poses, no OpenGL, or the encoder fails.
    """
    if path.suffix not in RATES:
        raise RenderError(f"{path}: a film ends in .mp4 or .gif")
    every = max(1, round(1.0 / (dt * RATES[path.suffix])))
    return write_video(
        gait_frames(model, character, poses, dt, every=every), path, 1.0 / (dt * every)
    )


def gait_frames(
    model: mujoco.MjModel,
    character: Character,
    poses: Floats,
    dt: float,
    *,
    every: int = 1,
) -> Iterator[Frame]:
    """Pictures (H, W, 3) of every `every`-th pose; arguments as `write_gait_film`."""
    scene = _Stage(model, character)
    try:
        spread = max(SMOOTHING / dt, 1e-3)
        way = gaussian_filter1d(poses[:, :3], spread, axis=0, mode="nearest")
        for k in range(0, len(poses), every):
            yield scene.frame(poses[k], way[k])
    finally:
        scene.close()


class _Stage:
    """A body, a floor and a camera."""

    def __init__(self, model: mujoco.MjModel, character: Character) -> None:
        self._model = _coloured(model)
        self._screen = Offscreen(self._model, *SIZE)
        self._data = mujoco.MjData(self._model)
        room = self._model.ngeom + _EXTRA_GEOMS
        self._scene = mujoco.MjvScene(self._model, room)
        self._option, self._camera = mujoco.MjvOption(), mujoco.MjvCamera()
        self._level = not any(
            kind == mujoco.mjtGeom.mjGEOM_HFIELD for kind in model.geom_type
        )
        self._feet = foot_lines(character)

    def frame(self, pose: Floats, target: Floats) -> Frame:
        """The body in `pose` (nq,), seen by a camera that looks at `target` (3,)."""
        self._data.qpos[:] = pose
        mujoco.mj_kinematics(self._model, self._data)
        camera = self._camera
        camera.lookat[:] = target[0], target[1], max(0.85 * target[2], 0.5)
        camera.distance, camera.elevation = DISTANCE, ELEVATION
        camera.azimuth = SIDE
        mujoco.mjv_updateScene(
            self._model, self._data, self._option, None, camera,
            mujoco.mjtCatBit.mjCAT_ALL.value, self._scene,
        )  # fmt: skip
        if self._level:
            self._add_floor(target)
        self._add_feet()
        self._add_sun()
        picture = self._screen.draw(self._scene)
        picture[~picture.any(axis=2)] = _SKY
        return picture

    def close(self) -> None:
        """Free the OpenGL context."""
        self._screen.close()

    def _add_floor(self, target: Floats) -> None:
        """Tiles around the body, fixed to the world."""
        first = np.floor(target[:2] / TILE).astype(int)
        for i, j in np.ndindex(2 * REACH + 1, 2 * REACH + 1):
            cell = first + np.array([i - REACH, j - REACH])
            colour = _DARK if cell.sum() % 2 else _LIGHT
            place = np.array([*(TILE * (cell + 0.5)), -0.005])
            size = np.array([0.5 * TILE, 0.5 * TILE, 0.005])
            geom = self._next()
            if geom is None:
                return
            mujoco.mjv_initGeom(
                geom, mujoco.mjtGeom.mjGEOM_BOX, size, place, np.eye(3).ravel(),
                np.array(colour, np.float32),
            )  # fmt: skip

    def _add_feet(self) -> None:
        """Sole balls joined to feet."""
        for line in self._feet:
            colour = (*(_RIGHT if line.right else _LEFT), 1.0)
            add_line(self._scene, line.places(self._data), line.radius, colour)

    def _add_sun(self) -> None:
        """One light from above that casts shadows."""
        if self._scene.nlight >= len(self._scene.lights):
            return
        light = self._scene.lights[self._scene.nlight]
        light.type = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
        light.castshadow = 1
        light.headlight = 0
        light.pos[:] = self._camera.lookat + np.array([-2.0, -2.0, 5.0])
        light.dir[:] = np.array([2.0, 2.0, -5.0]) / np.sqrt(33.0)
        light.ambient[:], light.specular[:] = 0.1, 0.1
        light.diffuse[:] = 0.45
        self._scene.nlight += 1

    def _next(self) -> mujoco.MjvGeom | None:
        """A free geom of the scene."""
        scene = self._scene
        if scene.ngeom >= scene.maxgeom:
            return None
        geom = scene.geoms[scene.ngeom]
        scene.ngeom += 1
        return geom


def _coloured(model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy with a colour for each side, for pictures of `SIZE`; a level floor unseen."""
    model = copy.copy(model)
    view = model.vis
    view.global_.offwidth = max(view.global_.offwidth, SIZE[0])
    view.global_.offheight = max(view.global_.offheight, SIZE[1])
    view.quality.shadowsize = 2048
    view.map.shadowclip = 4.0
    view.headlight.ambient[:], view.headlight.diffuse[:] = 0.35, 0.35
    view.headlight.specular[:] = 0.1
    for geom in range(model.ngeom):
        body = int(model.geom_bodyid[geom])
        if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE:
            model.geom_rgba[geom, 3] = 0.0
        elif body:
            model.geom_rgba[geom, :3] = _colour_of(model.body(body).name)
    return model


def _colour_of(body: str) -> tuple[float, float, float]:
    """By the side that a body's name ends in."""
    side = body[-1:].lower()
    return {"l": _LEFT, "r": _RIGHT}.get(side, _BODY)
