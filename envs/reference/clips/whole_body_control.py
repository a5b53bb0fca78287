"""Whole-body control: joint torques that keep a body on a clip, whatever the clip is.

Inverse dynamics at the state of the body is given the clip's accelerations and those that
bring the root back. Ground forces at the soles take over what the root needs, as far as
friction allows; what is left is the joints' torque. Nothing of it is found out per clip, and
so it holds for clips that were not fitted. See A. Herzog et al., Momentum control with
hierarchical inverse dynamics on a torque-controlled humanoid, Autonomous Robots 40, 2016;
here one weighted least-squares problem takes the place of the hierarchy.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.clip_library import ClipLibrary
from ambulo.envs.reference.clips.clip_teaching import clip_offsets, gains_of
from ambulo.envs.reference.inverse_dynamics import ground_reaction
from ambulo.envs.reference.reference import ReferenceMotion
from ambulo.envs.simulation.tangent import Tangent

State = tuple[Floats, Floats, Floats]
"""Positions (N, nq), velocities (N, nv) and accelerations (N, nv)."""
PLACE_STIFFNESS, PLACE_DAMPING = 10.0, 6.0
"""Acceleration of the root by its distance, [1/s^2], and by its velocity, [1/s], from the
clip's. Softer ones drift, stiffer ones ask for more than feet can give."""
TURN_STIFFNESS, TURN_DAMPING = 20.0, 8.0
"""Angular acceleration of the root by its angle, [1/s^2], and by its rate, [1/s]."""


class WholeBodyControl:
    """Torques of N bodies that follow N states; joints are held by stable PD."""

    def __init__(self, character: Character) -> None:
        """For a character with motors, on level ground."""
        self._character = character
        model, names = character.model, character.skeleton.joints
        self._bodies = [model.body(names[j]).id for j in character.soles.joints]
        self._tangent = Tangent(model)
        self._largest = largest_torque(model)

    def torque(self, qpos: Floats, qvel: Floats, aim: State) -> Floats:
        """Joint torques, [N m]; those of the root are 0. Shape (N, nv).

        Args:
            qpos: Positions of the bodies. Shape (N, nq).
            qvel: Their velocities. Shape (N, nv).
            aim: What they follow.
        """
        apart = self._tangent.difference(aim[0], qpos)[:, :6]
        slower = (aim[1] - qvel)[:, :6]
        wanted = aim[2].copy()
        wanted[:, :3] += PLACE_STIFFNESS * apart[:, :3] + PLACE_DAMPING * slower[:, :3]
        wanted[:, 3:6] += TURN_STIFFNESS * apart[:, 3:] + TURN_DAMPING * slower[:, 3:]
        model, soles = self._character.model, self._character.soles
        left, _ = ground_reaction(model, soles, self._bodies, (qpos, qvel, wanted))
        left[:, :6] = 0.0
        return np.clip(left, -self._largest, self._largest)


def largest_torque(model: mujoco.MjModel) -> Floats:
    """Largest torque of each degree of freedom, [N m]; infinite without a motor. (nv,)."""
    bound = np.full(int(model.nv), np.inf)
    for motor in range(model.nu):
        joint = int(model.actuator_trnid[motor, 0])
        gear = np.abs(model.actuator_gear[motor])
        limit = np.abs(model.actuator_forcerange[motor]).max()
        first = int(model.jnt_dofadr[joint])
        if limit > 0.0:
            for k in np.flatnonzero(gear):
                bound[first + k] = limit
    return bound


class TrackSupport:
    """Offsets that hold bodies on the clips of a library.

    A fitted clip has targets of its own: inverse dynamics gives only the difference between
    the body's state and the clip's.
    """

    def __init__(
        self,
        library: ClipLibrary,
        character: Character,
        gaits: Sequence[ReferenceMotion],
    ) -> None:
        """For a library that begins with the clips of `gaits`; some may be as captured."""
        self._library, self._control = library, WholeBodyControl(character)
        self._stiffness, _ = gains_of(character)
        self._last: tuple[Floats, Floats, Ints, Ints, Floats] | None = None
        whole = [self._own_offsets(k, gait, character) for k, gait in enumerate(gaits)]
        self._own = np.concatenate([np.zeros((0, len(self._stiffness))), *whole])

    def offsets(self, qpos: Floats, qvel: Floats, clip: Ints, frame: Ints) -> Floats:
        """How far targets are moved, [rad]; those of the root are 0. Shape (N, nv).

        Args:
            qpos: Positions of the bodies. Shape (N, nq).
            qvel: Their velocities. Shape (N, nv).
            clip: The clip of each. Shape (N,).
            frame: Physics steps of it that are over. Shape (N,).
        """
        given = qpos, qvel, clip, frame
        if self._last is not None and all(map(np.array_equal, given, self._last[:4])):
            return self._last[4]
        out = self._offsets(*given)
        knots = self._library.knot_rows(clip, frame)
        own = knots < len(self._own)
        out[own] += self._own[knots[own]]
        self._last = qpos.copy(), qvel.copy(), clip.copy(), frame.copy(), out
        return out

    def _own_offsets(
        self, clip: int, gait: ReferenceMotion, character: Character
    ) -> Floats:
        """What a clip's own targets add to control at its own states. (knots + 1, nv)."""
        library = self._library
        frame = library.substeps * np.arange(int(library.knots[clip]) + 1)
        if gait.controller is None:
            return np.zeros((len(frame), len(self._stiffness)))
        clips = np.full(len(frame), clip)
        rows = library.rows(clips, frame)
        at_clip = self._offsets(library.qpos[rows], library.qvel[rows], clips, frame)
        return clip_offsets(gait.table, library, clip, character) - at_clip

    def _offsets(self, qpos: Floats, qvel: Floats, clip: Ints, frame: Ints) -> Floats:
        library = self._library
        rows = library.rows(clip, frame)
        ahead = library.rows(clip, frame + library.substeps // 2)
        aim = library.qpos[rows], library.qvel[rows], library.acceleration[ahead]
        return self._control.torque(qpos, qvel, aim) / self._stiffness
