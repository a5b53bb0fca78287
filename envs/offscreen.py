"""Offscreen pictures by MuJoCo, without a window.

OpenGL may be absent or may abort the process that asks for it, so the first picture of
a process tries the possible back ends in child processes and raises `RenderError` when
none works.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from functools import lru_cache
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from ambulo.configs.errors import RenderError

Frame = NDArray[np.uint8]

_EXTRA_GEOMS = 1000
"""Extra geoms of a scene beside those of its model, such as tendons."""
_PROBE_SECONDS = 60.0

_PROBE = """
import importlib, sys, mujoco
context = importlib.import_module("mujoco." + sys.argv[1]).GLContext(16, 16)
context.make_current()
model = mujoco.MjSpec().compile()
mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value).free()
context.free()
"""


def gl_candidates() -> list[str]:
    """OpenGL back ends worth trying here, best first; MUJOCO_GL, when set, decides."""
    asked = os.environ.get("MUJOCO_GL", "").lower().strip()
    if asked in ("disable", "disabled", "off", "false", "0"):
        return []
    if asked in ("egl", "osmesa", "glfw", "cgl"):
        return [asked]
    if sys.platform == "darwin":
        return ["cgl", "glfw"]
    if sys.platform == "win32":
        return ["glfw"]
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return ["egl", "osmesa", *(["glfw"] if screen else [])]


def gl_backend() -> str:
    """The first OpenGL back end that works in a child process.

    Raises:
        RenderError: none works.
    """
    return _working_backend(tuple(gl_candidates()))


@lru_cache(maxsize=8)
def _working_backend(candidates: tuple[str, ...]) -> str:
    for name in candidates:
        try:
            probe = subprocess.run(
                [sys.executable, "-c", _PROBE, name],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if probe.returncode == 0:
            return name
    tried = ", ".join(candidates) or "none, MUJOCO_GL switches it off"
    raise RenderError(
        f"no OpenGL for pictures (tried: {tried}); install a driver with EGL or OSMesa"
        " (Debian: apt install libegl1 or libosmesa6), or run without --video"
    )


class Offscreen:
    """Draws scenes of one model without a window."""

    def __init__(self, model: mujoco.MjModel, width: int, height: int) -> None:
        """Frames of `width` x `height` pixels; the model's offscreen buffer is as large.

        Raises:
            RenderError: no OpenGL on this machine.
        """
        backend = gl_backend()
        self.width, self.height = width, height
        self._rect = mujoco.MjrRect(0, 0, width, height)
        self._gl: Any = None
        self._mjr: mujoco.MjrContext | None = None
        try:
            module = importlib.import_module(f"mujoco.{backend}")
            self._gl = module.GLContext(width, height)
            self._gl.make_current()
            self._mjr = mujoco.MjrContext(
                model, mujoco.mjtFontScale.mjFONTSCALE_100.value
            )
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._mjr)
        except Exception as error:
            self.close()
            raise RenderError(f"OpenGL back end {backend} failed: {error}") from error

    @property
    def closed(self) -> bool:
        """Whether the context is freed."""
        return self._mjr is None

    def draw(self, scene: mujoco.MjvScene) -> Frame:
        """One picture, shape (height, width, 3)."""
        pixels = np.empty((self.height, self.width, 3), np.uint8)
        self._gl.make_current()
        mujoco.mjr_render(self._rect, scene, self._mjr)
        mujoco.mjr_readPixels(pixels, None, self._rect, self._mjr)
        return np.ascontiguousarray(pixels[::-1])

    def close(self) -> None:
        """Free the OpenGL context."""
        if self._gl is not None:
            self._gl.make_current()
        if self._mjr is not None:
            self._mjr.free()
            self._mjr = None
        if self._gl is not None:
            self._gl.free()
            self._gl = None


class ModelRenderer:
    """Draws a model without any overlay."""

    def __init__(self, model: mujoco.MjModel, width: int, height: int) -> None:
        """Frames of `width` x `height` pixels; `RenderError` without OpenGL."""
        self._screen = Offscreen(model, width, height)
        self.model, self.data = model, mujoco.MjData(model)
        """The drawn scene; the caller writes the positions of `data`."""
        self._scene = mujoco.MjvScene(model, model.ngeom + _EXTRA_GEOMS)
        self._option, self.camera = mujoco.MjvOption(), mujoco.MjvCamera()

    def frame(self) -> Frame:
        """The model at the positions of `data` from `camera`, shape (height, width, 3)."""
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mjv_updateScene(
            self.model, self.data, self._option, None, self.camera,
            mujoco.mjtCatBit.mjCAT_ALL.value, self._scene,
        )  # fmt: skip
        return self._screen.draw(self._scene)

    def close(self) -> None:
        """Free the OpenGL context."""
        self._screen.close()
