"""Whole-body control of bodies that follow clips, as offsets of their joint targets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.clip_library import ClipLibrary
from ambulo.envs.reference.clips.clip_teaching import clip_offsets, gains_of
from ambulo.envs.reference.clips.whole_body_control import WholeBodyControl
from ambulo.envs.reference.reference_file import Gait


class TrackSupport:
    """Offsets that hold bodies on the clips of a library.

    A fitted clip has targets of its own: inverse dynamics gives only the difference between
    the body's state and the clip's.
    """

    def __init__(
        self, library: ClipLibrary, character: Character, gaits: Sequence[Gait]
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

    def _own_offsets(self, clip: int, gait: Gait, character: Character) -> Floats:
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
