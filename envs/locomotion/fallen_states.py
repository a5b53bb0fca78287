"""How bodies lie after a fall: they are dropped limp, and where they are then is kept."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionFileError
from ambulo.envs.characters.registry import load_character
from ambulo.envs.locomotion.body import into_frame
from ambulo.envs.reference.cached import EntryFormat, cached
from ambulo.envs.simulation.dropping import dropped_states
from ambulo.motion.formats.npz import packed, unpacked
from ambulo.motion.rotations import yaw_of

Falls = tuple[Floats, Floats]
"""Positions (n, nq) and velocities (n, nv)."""


@lru_cache(maxsize=4)
def fallen_states(name: str, timestep: float, count: int, seed: int) -> Falls:
    """Positions (n, nq) and velocities (n, nv) of bodies that have fallen.

    Made once for all processes (6 s for 256 bodies). Their turn about the vertical is taken
    out.

    Args:
        name: The character, driven by motors.
        timestep: Of its physics, [s].
        count: How many are dropped; n of them, nearly all, did not explode.
        seed: Of the falls.
    """

    def drop() -> Falls:
        character = load_character(name)
        character.model.opt.timestep = timestep
        return dropped_states(character, count, seed)

    found = cached(["falls", name, timestep, count, seed], None, drop, _FALLS)
    qpos, qvel = (part.copy() for part in found)
    turned = np.zeros((len(qpos), 4))
    turned[:, :2], turned[:, 2] = qpos[:, :2], yaw_of(qpos[:, 3:7])
    into_frame(qpos, qvel, turned)
    return qpos, qvel


def _from_bytes(data: bytes, source: Path) -> Falls:
    arrays = unpacked(source, data, {"qpos", "qvel"}, "falls")
    if len(arrays) < 2:
        raise MotionFileError(source, 0, "is damaged: lacks positions or velocities")
    return arrays["qpos"], arrays["qvel"]


_FALLS = EntryFormat[Falls](
    lambda falls: packed({"qpos": falls[0], "qvel": falls[1]}), _from_bytes
)
