"""A clip that grows while a body follows it: poses that arrive one after the other."""

from __future__ import annotations

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.clip_library import ClipLibrary
from ambulo.envs.simulation.frames import heading_frames, into_frames
from ambulo.envs.simulation.tangent import Tangent

JUMP_PLACE, JUMP_TURN = 0.25, 1.0
"""A root that moves farther, [m], or a joint that turns farther, [rad], in one control step
jumps."""
BRIDGE = 12
"""Control steps that lead over a jump."""
STREAM = "stream"
"""Name of the clip."""
HALF = 4
"""Poses on each side of the one whose acceleration is found."""


class PoseStream:
    """Poses in the order of their arrival, as a library of one clip.

    A pose that jumps is led to: the stream goes on where the body is, after a bridge of
    `BRIDGE` control steps. Accelerations are known up to `HALF` poses before the newest,
    from parabolas through the poses around each (A. Savitzky and M. Golay, Analytical
    Chemistry 36, 1964); later ones are as the last that is known.
    """

    def __init__(
        self, character: Character, substeps: int, *, seconds: float = 600.0
    ) -> None:
        """Room for `seconds` of poses, one a control step of `substeps` physics steps."""
        model = character.model
        knots = round(seconds / (float(model.opt.timestep) * substeps)) + 1
        rows = (knots - 1) * substeps + 1
        self._model, self._data = model, mujoco.MjData(model)
        self._tangent, self._most = Tangent(model), rows - 1
        self._dt = float(model.opt.timestep)
        times = self._dt * substeps * np.arange(-HALF, HALF + 1)
        self._bend = 2.0 * np.linalg.pinv(times[:, None] ** np.arange(3))[2]
        """What gives the acceleration of the middle one of 2 `HALF` + 1 poses."""
        self._move = np.zeros(3)
        """Where the stream is moved to: x, y, [m], and yaw, [rad], of its own origin."""
        self.library = ClipLibrary(
            (STREAM,), np.zeros(1, np.int64), np.zeros(1, np.int64), substeps,
            np.zeros((rows, model.nq)), np.zeros((rows, model.nv)),
            np.zeros((rows, model.nv)), np.zeros((rows, model.nv)), np.zeros((rows, 4)),
            np.zeros((knots, model.nbody - 1, 3)), np.zeros((knots, 3)),
        )  # fmt: skip
        """What has arrived."""
        self.jumps = 0
        """Jumps so far."""

    @property
    def knots(self) -> int:
        """Control steps that have arrived after the first pose."""
        return int(self.library.knots[0])

    def begin(self, qpos: Floats) -> None:
        """Start anew with a pose, MuJoCo's positions (nq,)."""
        self.library.steps[0], self.jumps, self._move[:] = 0, 0, 0.0
        self.library.qpos[0] = qpos
        self.library.frames[0] = heading_frames(qpos[None])[0]
        self.library.acceleration[0] = 0.0
        self._note(0)

    def append(self, qpos: Floats) -> None:
        """Take in the next pose (nq,), one control step after the last.

        Raises:
            MotionError: Not finite, or more poses than there is room for.
        """
        if qpos.shape != (self._model.nq,) or not np.isfinite(qpos).all():
            raise MotionError(f"a pose is {self._model.nq} finite numbers")
        last = self.library.qpos[self.library.steps[0]]
        moved = self._moved(qpos)
        apart = self._tangent.difference(moved[None], last[None])[0]
        far = np.hypot(*apart[:2]) > JUMP_PLACE
        if not far and np.abs(apart[3:]).max() < JUMP_TURN:
            self._add(moved)
            return
        self.jumps += 1
        self._join(qpos, last)
        moved, start = self._moved(qpos), last.copy()
        apart = self._tangent.difference(moved[None], start[None])[0]
        for k in range(1, BRIDGE + 1):
            share = k / BRIDGE
            eased = share * share * (3.0 - 2.0 * share)
            self._add(self._tangent.moved(start[None], eased * apart[None])[0])

    def _join(self, qpos: Floats, last: Floats) -> None:
        """Move what follows so that the pose's heading frame is that of `last`."""
        here, there = heading_frames(np.stack([last, qpos]))
        yaw = here[2] - there[2]
        c, s = np.cos(yaw), np.sin(yaw)
        x, y = there[0], there[1]
        self._move[:] = here[0] - (c * x - s * y), here[1] - (s * x + c * y), yaw

    def _moved(self, qpos: Floats) -> Floats:
        """A pose where the stream is moved to."""
        out = qpos.copy()
        x, y, yaw = self._move
        c, s = np.cos(yaw), np.sin(yaw)
        out[0], out[1] = x + c * qpos[0] - s * qpos[1], y + s * qpos[0] + c * qpos[1]
        turn = np.array([np.cos(0.5 * yaw), 0.0, 0.0, np.sin(0.5 * yaw)])
        mujoco.mju_mulQuat(out[3:7], turn, qpos[3:7])
        return out

    def _add(self, qpos: Floats) -> None:
        """Append a pose, and the physics steps that lead to it."""
        library, substeps = self.library, self.library.substeps
        at = int(library.steps[0])
        if at + substeps > self._most:
            raise MotionError("the stream is full: begin anew")
        last = library.qpos[at : at + 1]
        apart = self._tangent.difference(qpos[None], last)
        shares = np.arange(1, substeps + 1)[:, None] / substeps
        rows = slice(at + 1, at + substeps + 1)
        library.qpos[rows] = self._tangent.moved(
            np.repeat(last, substeps, axis=0), shares * apart
        )
        library.qvel[rows] = apart / (substeps * self._dt)
        if at == 0:  # as fast as what follows
            library.qvel[0] = library.qvel[1]
        library.frames[rows] = heading_frames(library.qpos[rows])
        library.steps[0] = at + substeps
        library.acceleration[rows] = library.acceleration[at]
        self._note(at + substeps)
        self._note_acceleration()

    def _note_acceleration(self) -> None:
        """Fill in accelerations from the middle of the newest poses on."""
        library, substeps, middle = (
            self.library,
            self.library.substeps,
            self.knots - HALF,
        )
        if middle < HALF:
            return
        rows = substeps * np.arange(middle - HALF, middle + HALF + 1)
        poses, at = library.qpos[rows], substeps * middle
        around = np.repeat(poses[HALF : HALF + 1], len(poses), axis=0)
        found = self._bend @ self._tangent.difference(poses, around)
        first = found if middle == HALF else library.acceleration[at - substeps].copy()
        library.acceleration[: at if middle == HALF else 0] = found
        shares = np.arange(1, substeps + 1)[:, None] / substeps
        library.acceleration[at - substeps + 1 : at + 1] = first + shares * (
            found - first
        )
        library.acceleration[at : int(library.steps[0]) + 1] = found

    def _note(self, row: int) -> None:
        """Fill in the places of the bodies at a row."""
        library, data = self.library, self._data
        data.qpos[:] = library.qpos[row]
        mujoco.mj_kinematics(self._model, data)
        mujoco.mj_comPos(self._model, data)
        frame, knot = library.frames[row : row + 1], row // library.substeps
        root = int(self._model.jnt_bodyid[0])
        library.joints[knot] = into_frames(data.xpos[None, 1:], frame)[0]
        library.com[knot] = into_frames(data.subtree_com[None, None, root], frame)[0, 0]
