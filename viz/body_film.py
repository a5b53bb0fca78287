"""Films of simulated bodies: MuJoCo without a window, a chequered floor, a camera beside.

The camera moves along beside the body. The model itself is drawn, with its own colours, so
every character can be filmed.
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
from ambulo.motion.roles import SIDES, roles_of
from ambulo.motion.roles.names import name_vote

SIZE = (640, 480)
"""Width and height of a film, [px]."""
RATES = {".mp4": 30.0, ".gif": 15.0}
"""Largest number of frames per second by format."""
SIDE, ELEVATION, DISTANCE = 65.0, -10.0, 3.4
"""Camera: azimuth of its line of sight from the heading, elevation, [deg], and distance,
[m]."""
SMOOTHING = 0.4
"""Standard deviation of the smoothing of the camera path, [s]."""
TILE, REACH = 0.5, 18
"""Size of a floor tile, [m], and number of tiles to each side."""
_LIGHT, _DARK = (0.93, 0.94, 0.95, 1.0), (0.80, 0.83, 0.87, 1.0)
_BODY, _LEFT, _RIGHT = (0.85, 0.86, 0.88), (0.18, 0.38, 0.79), (0.76, 0.09, 0.36)
_COLOURS = {"": _BODY, "left": _LEFT, "right": _RIGHT}
_SKY = (226, 232, 240)
_EXTRA_GEOMS = (2 * REACH + 1) ** 2 + 80


def write_gait_film(
    path: Path, model: mujoco.MjModel, character: Character, poses: Floats, dt: float
) -> Path:
    """Write an .mp4 or .gif of one body, in real time, atomically.

    Args:
        path: The file; its suffix determines the format.
        model: The body in its world.
        character: The character.
        poses: Its positions. Shape (T, nq).
        dt: Time between them, [s].

    Raises:
        RenderError: Another suffix, no poses, no OpenGL, or a failure of the encoder.
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
    scene = BodyStage(model, character)
    try:
        spread = max(SMOOTHING / dt, 1e-3)
        way = gaussian_filter1d(poses[:, :3], spread, axis=0, mode="nearest")
        for k in range(0, len(poses), every):
            yield scene.frame(poses[k], way[k])
    finally:
        scene.close()


class BodyStage:
    """A body, a floor and a camera."""

    def __init__(
        self,
        model: mujoco.MjModel,
        character: Character,
        size: tuple[int, int] = SIZE,
    ) -> None:
        """Create the stage.

        Args:
            model: The body in its world.
            character: The character.
            size: Width and height of pictures, [px].

        Raises:
            RenderError: No OpenGL on this machine.
        """
        self._model = _coloured(model, character, size)
        self._screen = Offscreen(self._model, *size)
        self._data = mujoco.MjData(self._model)
        room = self._model.ngeom + _EXTRA_GEOMS
        self._scene = mujoco.MjvScene(self._model, room)
        self._option, self._camera = mujoco.MjvOption(), mujoco.MjvCamera()
        self._level = not any(
            kind == mujoco.mjtGeom.mjGEOM_HFIELD for kind in model.geom_type
        )
        self._feet = foot_lines(character)

    def frame(
        self,
        pose: Floats,
        target: Floats,
        *,
        azimuth: float = SIDE,
        distance: float = DISTANCE,
    ) -> Frame:
        """The body in `pose` (nq,), seen by a camera that looks at `target` (3,).

        Its azimuth is from the X axis, [deg], its `distance` in [m].
        """
        self._data.qpos[:] = pose
        mujoco.mj_kinematics(self._model, self._data)
        camera = self._camera
        camera.lookat[:] = target[0], target[1], max(0.85 * target[2], 0.5)
        camera.distance, camera.elevation = distance, ELEVATION
        camera.azimuth = azimuth
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

    def pixels(self, points: Floats) -> Floats:
        """Columns and rows of world points (n, 3) in the last frame, [px]. Shape (n, 2)."""
        left, right = self._scene.camera
        place = 0.5 * (np.array(left.pos) + np.array(right.pos))
        ahead, up = np.array(left.forward), np.array(left.up)
        turned = (points - place) @ np.array([np.cross(ahead, up), up, ahead]).T
        flat = turned[:, :2] * left.frustum_near / turned[:, 2:]
        half = 0.5 * (left.frustum_top - left.frustum_bottom)
        height = self._screen.height
        middle = 0.5 * np.array([self._screen.width, height])
        seen: Floats = middle + flat * [1.0, -1.0] * 0.5 * height / half
        return seen

    @property
    def data(self) -> mujoco.MjData:
        """State of the body in the last frame."""
        return self._data

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
        """Draw contact spheres as feet."""
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
        turn = np.deg2rad(self._camera.azimuth - SIDE)
        cos, sin = np.cos(turn), np.sin(turn)
        sun = np.array([-2.0 * (cos - sin), -2.0 * (cos + sin), 5.0])
        light.pos[:] = self._camera.lookat + sun
        light.dir[:] = -sun / np.sqrt(33.0)
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


def _coloured(
    model: mujoco.MjModel, character: Character, size: tuple[int, int]
) -> mujoco.MjModel:
    """A copy with a colour for each side, for pictures of `size`; level floors invisible."""
    model = copy.copy(model)
    view = model.vis
    view.global_.offwidth = max(view.global_.offwidth, size[0])
    view.global_.offheight = max(view.global_.offheight, size[1])
    view.quality.shadowsize = 2048
    view.map.shadowclip = 4.0
    view.headlight.ambient[:], view.headlight.diffuse[:] = 0.35, 0.35
    view.headlight.specular[:] = 0.1
    sides = _sides(model, character)
    for geom in range(model.ngeom):
        body = int(model.geom_bodyid[geom])
        if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE:
            model.geom_rgba[geom, 3] = 0.0
        elif body:
            model.geom_rgba[geom, :3] = _COLOURS[sides[body]]
    return model


def _sides(model: mujoco.MjModel, character: Character) -> list[str]:
    """The side of each body by its role, its name or its parent; "" in the middle."""
    roles = {
        character.skeleton.joints[joint]: role
        for role, joint in roles_of(character.skeleton).items()
    }
    sides = [""]
    for body in range(1, model.nbody):
        name = model.body(body).name
        if name in roles:
            side = roles[name].partition("_")[0]
            sides.append(side if side in SIDES else "")
        else:
            above = sides[int(model.body_parentid[body])]
            sides.append(name_vote(name).side or above)
    return sides
