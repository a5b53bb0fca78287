"""A reference that is made in no time, for tests of locomotion training."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ambulo.configs.locomotion import EnvironmentConfig
from ambulo.envs.characters.character import load_character
from ambulo.envs.locomotion.balance import BalanceLaw
from ambulo.envs.locomotion.reference import (
    Gait,
    Reference,
    matching_joints,
    save_reference,
)
from ambulo.envs.locomotion.reference_table import ReferenceTable


def standing_reference(path: Path, *, gain: float = 0.2) -> Path:
    """Standing still as a gait of 1 s, with a law that answers a tilt of the root."""
    character = load_character("human23")
    model = character.model
    qpos = np.tile(model.qpos0, (8, 1))
    qpos[:, 2] = character.standing_height
    still = np.zeros((8, model.nv))
    dofs = character.dofs(*matching_joints(character, EnvironmentConfig().joints))
    gains = np.zeros((30, len(dofs), 2 * model.nv))
    gains[:, :, 3:6] = gain * np.random.default_rng(0).normal(size=(len(dofs), 3))
    table = ReferenceTable(1.0, np.zeros(3), qpos, still, still.copy())
    gait = Gait(table, BalanceLaw(gains, dofs), {})
    save_reference(path, Reference("standing", "human23", 1.0 / 30.0, (gait,)))
    return path
