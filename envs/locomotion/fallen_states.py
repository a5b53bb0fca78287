"""How bodies lie after a fall: they are dropped limp, and where they are then is kept."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionFileError
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.registry import load_character
from ambulo.envs.locomotion.body import into_frame
from ambulo.envs.reference.kept import Form, kept_on_disk
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.motion.formats.npz import packed, unpacked
from ambulo.motion.rotations import quat_normalize, yaw_of

Falls = tuple[Floats, Floats]
"""Positions (n, nq) and velocities (n, nv)."""
DROP_HEIGHT = 0.9
"""Height of the root above the ground from which bodies fall, [m]."""
BEND = 0.5
"""Standard deviation of joint angles at the drop, [rad]."""
SECONDS = 2.0
"""Time in which they come to rest, [s]."""


def _from_bytes(data: bytes, source: str | Path) -> Falls:
    arrays = unpacked(Path(source), data, {"qpos", "qvel"}, "falls")
    if len(arrays) < 2 or len(arrays["qpos"]) != len(arrays["qvel"]):
        raise MotionFileError(Path(source), 0, "is damaged or holds no falls")
    return arrays["qpos"], arrays["qvel"]


FORM = Form(lambda falls: packed({"qpos": falls[0], "qvel": falls[1]}), _from_bytes)
"""How falls are kept on disk."""


@lru_cache(maxsize=4)
def kept_falls(name: str, timestep: float, count: int, seed: int) -> Falls:
    """`fallen_states` of a character by name, made once (8 s for 256 bodies)."""
    code = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    key = {"falls": [name, timestep, count, seed], "code": code}

    def make() -> Falls:
        character = load_character(name)
        character.model.opt.timestep = timestep
        return fallen_states(character, count, seed)

    return kept_on_disk(FORM, key, None, make, takes="")


def fallen_states(character: Character, count: int, seed: int) -> Falls:
    """Positions (n, nq) and velocities (n, nv) of bodies that have fallen.

    Their turn about the vertical is taken out.

    Roots are turned at random and come down at the origin, joints are bent at random.

    Args:
        character: The body, driven by motors.
        count: How many are dropped; n of them, nearly all, did not explode.
        seed: Of the falls.
    """
    random = np.random.default_rng([seed, 11])
    model = character.model
    steps = round(SECONDS / float(model.opt.timestep))
    simulation = CharacterSimulation(character, count, substeps=1, threads=0)
    qpos = np.tile(model.qpos0, (count, 1))
    bend = BEND * random.normal(size=(count, model.nv))
    bend[:, :6] = 0.0
    qpos = simulation.tangent.moved(qpos, bend)
    qpos[:, :2], qpos[:, 2] = 0.0, DROP_HEIGHT
    qpos[:, 3:7] = quat_normalize(random.normal(size=(count, 4)))
    every = np.arange(count)
    simulation.reset(every, np.zeros(count), qpos, np.zeros((count, model.nv)))
    for _ in range(steps):  # targets where the joints are: only their damping acts
        simulation.step(simulation.qpos.copy(), np.zeros((count, model.nv)))
    good = simulation.fault == 0
    qpos, qvel = simulation.qpos[good].copy(), simulation.qvel[good].copy()
    turned = np.zeros((len(qpos), 4))
    turned[:, :2], turned[:, 2] = qpos[:, :2], yaw_of(qpos[:, 3:7])
    into_frame(qpos, qvel, turned)
    return qpos, qvel
