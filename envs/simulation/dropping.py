"""Where limp bodies lie that were dropped in random poses."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.character import Character
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.motion.rotations import quat_normalize

DROP_HEIGHT = 0.9
"""Height of the root above the ground from which bodies fall, [m]."""
BEND = 0.5
"""Standard deviation of joint angles at the drop, [rad]."""
SECONDS = 2.0
"""Time in which they come to rest, [s]."""


def dropped_states(
    character: Character, count: int, seed: int
) -> tuple[Floats, Floats]:
    """Positions (n, nq) and velocities (n, nv) of bodies at rest after a fall.

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
    return simulation.qpos[good].copy(), simulation.qvel[good].copy()
