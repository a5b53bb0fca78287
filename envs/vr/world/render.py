"""Pictures and videos of VR episodes: offscreen MuJoCo frames, no window."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.atomic import replace_file
from ambulo.configs.closing import Closing
from ambulo.configs.errors import RenderError
from ambulo.envs.characters.registry import load_character, load_spec
from ambulo.envs.locomotion.foot_lines import foot_lines
from ambulo.envs.offscreen import Frame, Offscreen, gl_backend
from ambulo.envs.vr.contract import BODY_HEIGHT, EYE_HEIGHT
from ambulo.envs.vr.geometry.solid_kernels import BOX, PERSON
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import Solids
from ambulo.envs.vr.world.cameras import CameraPose, chase_path
from ambulo.envs.vr.world.level_geoms import Overhead
from ambulo.envs.vr.world.mujoco_scene import BEAM, SKIN, render_model
from ambulo.motion.rotations import quat_rotate

Camera = Literal["chase", "top"]

_TRAIL_RADIUS = 0.04
_TRAIL_SEGMENTS = 600
"""Largest number of trail points; longer trails are thinned."""
_TRAIL_COLOUR = (0.98, 0.83, 0.15, 0.9)
_PATH_RADIUS, _PATH_COLOUR = 0.05, (0.16, 0.42, 0.95, 0.9)
_PATH_POINTS = 200
"""Largest number of drawn points of a planned path."""
_BLOCKED_HALF, _BLOCKED_COLOUR = 0.07, (0.85, 0.10, 0.20, 0.75)
_MOST_BLOCKED = 2500
"""Largest number of drawn blocked columns, the nearest ones."""
MOST_MOVING = 512
"""Largest number of drawn movers and people."""
_PERSON_COLOUR = (0.80, 0.45, 0.30, 1.0)
_THING_COLOUR = (0.0, 0.51, 0.56, 1.0)
_GLASS = 0.3
"""Opacity of a mover right over the player."""
_LIFTED = 0.004
"""Raise of drawn movers, whose tops may coincide with a floor, [m]."""


class EpisodeRenderer(Closing):
    """Draws one level with a player in it; use as a context manager or call `close`."""

    def __init__(
        self,
        level: Level,
        width: int = 640,
        height: int = 480,
        *,
        goal_radius: float = 1.0,
        character: str | None = None,
        eye_height: float = EYE_HEIGHT,
    ) -> None:
        """Create frames of `width` x `height` pixels with a disc of `goal_radius` [m].

        `character`: Name of a body to draw instead of the capsule, whose eyes are at
        `eye_height` [m].

        Raises:
            RenderError: No OpenGL on this machine.
        """
        gl_backend()
        self.level = level
        self.width, self.height = width, height
        spec = None if character is None else load_spec(character)
        self._feet = [] if character is None else foot_lines(load_character(character))
        self._model = render_model(level, width, height, goal_radius, spec, eye_height)
        self._data = mujoco.MjData(self._model)
        self._goal = int(self._model.body("goal").mocapid[0])
        self._player: int | None = None
        if character is None:
            self._player = int(self._model.body("player").mocapid[0])
        mujoco.mj_forward(self._model, self._data)
        self._overhead = Overhead(self._model, self._data)
        self._high = max(Solids.of(level, as_drawn=True).floor_heights()[1], 0.0) + BEAM
        self._scene = mujoco.MjvScene(
            self._model,
            self._model.ngeom
            + len(self._feet)
            + _TRAIL_SEGMENTS
            + MOST_MOVING
            + _PATH_POINTS
            + _MOST_BLOCKED
            + 8,
        )
        self._option, self._camera = mujoco.MjvOption(), mujoco.MjvCamera()
        self._screen = Offscreen(self._model, width, height)

    def frame(
        self,
        position: Floats,
        yaw: float,
        goal: Floats | None = None,
        trail: Sequence[Floats] | Floats | None = None,
        camera: Camera | CameraPose = "chase",
        qpos: Floats | None = None,
        moving: Floats | None = None,
        plan: tuple[Floats, Floats] | None = None,
    ) -> Frame:
        """One picture, shape (height, width, 3).

        `position` (2,) or (3,) of the XR origin [m], `yaw` [rad], `goal` (2,) or (3,) [m],
        `trail` (T, 2) or (T, 3): past positions [m], drawn just above the floor. Missing
        heights are 0. `camera`: "chase" is behind the player, "top" above the whole level;
        shapes that occlude the player from above are transparent. `qpos` (nq,) of the
        character. `moving` are movers: rows of `solid_kernels`, shape (n, 9). `plan`: the
        agent's planned path (k, 3), and its remembered blocked cells (m, 3), [m].
        """
        if self._screen.closed:
            raise RenderError("this renderer is closed")
        data, place = self._data, _with_heights(position)
        if self._player is not None:
            data.mocap_pos[self._player] = place
            data.mocap_quat[self._player] = (np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2))
        elif qpos is not None:
            data.qpos[:] = qpos
        data.mocap_pos[self._goal] = (
            (0, 0, -1e3) if goal is None else _with_heights(goal)
        )
        mujoco.mj_kinematics(self._model, data)
        if camera == "chase":
            camera = chase_path(place[None], np.array([yaw]))[0]
        if camera == "top":
            self._look_down()
            self._overhead.show(place, np.array([*place[:2], self._high + BODY_HEIGHT]))
        else:
            self._look_from(camera)
            self._overhead.show(place, camera.place)
        mujoco.mjv_updateScene(
            self._model, data, self._option, None, self._camera,
            mujoco.mjtCatBit.mjCAT_ALL.value, self._scene,
        )  # fmt: skip
        if camera != "top":
            upward = quat_rotate(camera.turn, np.array([0.0, 0.0, 1.0]))
            for eye in self._scene.camera:
                eye.up[:] = upward
        for line in self._feet:
            add_line(self._scene, line.places(data), line.radius, SKIN)
        if moving is not None:
            add_moving(self._scene, moving, place)
        if trail is not None and len(trail) > 1:
            self._draw_trail(_with_heights(trail))
        if plan is not None:
            self._draw_path(plan[0], place)
            add_cells(self._scene, plan[1], place)
        return self._screen.draw(self._scene)

    def close(self) -> None:
        """Free the OpenGL context."""
        self._screen.close()

    def _look_from(self, pose: CameraPose) -> None:
        """Set the camera except its roll, which MuJoCo's free camera does not have."""
        self._model.vis.global_.fovy = pose.field_of_view
        self._model.vis.global_.orthographic = 0
        camera = self._camera
        x, y, z = quat_rotate(pose.turn, np.array([1.0, 0.0, 0.0]))
        camera.lookat[:] = pose.place + np.array([x, y, z])
        camera.distance = 1.0
        camera.azimuth = np.degrees(np.arctan2(y, x))
        camera.elevation = np.degrees(np.arctan2(z, np.hypot(x, y)))

    def _look_down(self) -> None:
        """Show the whole level, X to the right and Y up."""
        x0, y0, x1, y1 = self.level.bounds
        tall = 1.06 * max(y1 - y0, (x1 - x0) * self.height / self.width)
        self._model.vis.global_.fovy = tall
        self._model.vis.global_.orthographic = 1
        camera = self._camera
        camera.lookat[:] = ((x0 + x1) / 2, (y0 + y1) / 2, 0.0)
        # Far enough above the highest thing for the near plane, no farther: the far plane
        # is a few extents away.
        camera.distance = self._high + 0.1 * self._model.stat.extent
        camera.azimuth = 90.0
        camera.elevation = -90.0

    def _draw_trail(self, points: Floats) -> None:
        stride = max(1, -(-len(points) // _TRAIL_SEGMENTS))
        kept = np.vstack([points[::stride], points[-1:]])
        lifted = kept + np.array([0.0, 0.0, _TRAIL_RADIUS])
        for begin, end in pairwise(lifted):
            if not np.array_equal(begin, end):
                add_line(self._scene, (begin, end), _TRAIL_RADIUS, _TRAIL_COLOUR)

    def _draw_path(self, path: Floats, place: Floats) -> None:
        """Draw the planned path from the player on."""
        if len(path) == 0:
            return
        nearest = int(np.linalg.norm(path[:_PATH_POINTS] - place, axis=1).argmin())
        points = np.vstack([place, path[nearest + 1 : nearest + _PATH_POINTS]])
        for ends in pairwise(points + np.array([0.0, 0.0, 2.0 * _PATH_RADIUS])):
            add_line(self._scene, ends, _PATH_RADIUS, _PATH_COLOUR)


def _with_heights(points: Sequence[Floats] | Floats) -> Floats:
    """Points (..., 2 or 3) as (..., 3); a missing height is 0."""
    rows = np.asarray(points, np.float64)[..., :3]
    if rows.shape[-1] == 3:
        return rows
    return np.concatenate([rows, np.zeros((*rows.shape[:-1], 1))], axis=-1)


def write_video(frames: Iterable[Frame], path: Path | str, fps: float = 10.0) -> Path:
    """Write `frames` to an .mp4 (H.264) or .gif file, atomically.

    Raises:
        RenderError: Another suffix, no frames, or a failure of the encoder.
    """
    import imageio.v2 as imageio

    path = Path(path)
    if path.suffix not in (".mp4", ".gif"):
        raise RenderError(f"cannot write {path.name}: a video ends in .mp4 or .gif")
    options: dict[str, Any] = (
        {
            "fps": fps,
            "codec": "libx264",
            "quality": 7,
            "macro_block_size": 2,
            "ffmpeg_log_level": "quiet",
        }
        if path.suffix == ".mp4"
        else {"duration": 1000.0 / fps, "loop": 0, "format": "GIF"}
    )
    partial = path.with_name(f".partial-{os.getpid()}-{path.name}")
    count = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A GIF is made in memory: its encoder does not report a full disk.
        memory = io.BytesIO()
        target = partial if path.suffix == ".mp4" else memory
        writer: Any
        with imageio.get_writer(target, **options) as writer:
            for frame in frames:
                writer.append_data(frame)
                count += 1
        if count and target is memory:
            replace_file(path, memory.getvalue())
        elif count:
            _check_mp4(partial)
            os.replace(partial, path)
    except RenderError:
        raise
    except OSError as error:
        reason = error.strerror or error
        raise RenderError(f"cannot write {path}: {reason}") from error
    except Exception as error:
        raise RenderError(f"cannot write {path}: {error}") from error
    finally:
        partial.unlink(missing_ok=True)
    if not count:
        raise RenderError(f"cannot write {path}: there are no frames")
    return path


def _check_mp4(file: Path) -> None:
    """Raise `OSError` for a film without its index, which is written last.

    A failure of ffmpeg, such as a full disk, shows in no other way.
    """
    if b"moov" not in file.read_bytes():
        raise OSError(
            errno.ENOSPC, "the encoder could not finish it; is the disk full?"
        )


def add_moving(scene: mujoco.MjvScene, rows: Floats, feet: Floats) -> None:
    """Add movers and people to the scene.

    Args:
        scene: The scene.
        rows: Rows of `solid_kernels`, shape (n, 9).
        feet: Feet of the player; movers above them are transparent, shape (3,), [m].
    """
    for x, y, a, b, cos, sin, bottom, top, kind in rows:
        if kind == PERSON:
            low, high = bottom + a, bottom + BODY_HEIGHT - a
            ends = (np.array([x, y, low]), np.array([x, y, high]))
            add_line(scene, ends, a, _PERSON_COLOUR)
        elif kind == BOX and scene.ngeom < scene.maxgeom:
            away = np.hypot(x - feet[0], y - feet[1]) - np.hypot(a, b)
            over = bottom >= feet[2] + BODY_HEIGHT and away < 1.0
            rgba = np.array([*_THING_COLOUR[:3], _GLASS if over else 1.0], np.float32)
            turn = np.array([cos, -sin, 0.0, sin, cos, 0.0, 0.0, 0.0, 1.0])
            half = np.array([a, b, (top - bottom) / 2])
            middle = np.array([x, y, (bottom + top) / 2 + _LIFTED])
            geom = scene.geoms[scene.ngeom]
            mujoco.mjv_initGeom(
                geom, mujoco.mjtGeom.mjGEOM_BOX, half, middle, turn, rgba
            )
            scene.ngeom += 1


def add_cells(scene: mujoco.MjvScene, cells: Floats, place: Floats) -> None:
    """Add blocked cells of a map to the scene, the nearest to `place` (3,), [m].

    Args:
        scene: The scene.
        cells: Centres of the columns on their floors, shape (n, 3), [m].
        place: Position of the player.
    """
    away = np.linalg.norm(cells - place, axis=1)
    half = np.full(3, _BLOCKED_HALF)
    rgba = np.array(_BLOCKED_COLOUR, np.float32)
    for k in np.argsort(away)[:_MOST_BLOCKED]:
        if scene.ngeom >= scene.maxgeom:
            return
        middle = cells[k] + np.array([0.0, 0.0, 2.0 * _BLOCKED_HALF])
        mujoco.mjv_initGeom(
            scene.geoms[scene.ngeom], mujoco.mjtGeom.mjGEOM_BOX, half, middle,
            np.eye(3).ravel(), rgba,
        )  # fmt: skip
        scene.ngeom += 1


def add_line(
    scene: mujoco.MjvScene,
    ends: Sequence[Floats],
    radius: float,
    colour: Sequence[float],
) -> None:
    """Add a capsule to the scene, if it has space.

    Args:
        scene: The scene.
        ends: Its two ends, [m]. Shape (2, 3).
        radius: Radius, [m].
        colour: Red, green, blue, alpha.
    """
    if scene.ngeom >= scene.maxgeom:
        return
    geom, capsule = scene.geoms[scene.ngeom], mujoco.mjtGeom.mjGEOM_CAPSULE
    rgba = np.array(colour, np.float32)
    mujoco.mjv_initGeom(geom, capsule, np.zeros(3), np.zeros(3), np.zeros(9), rgba)
    mujoco.mjv_connector(geom, capsule, radius, *ends)
    scene.ngeom += 1
