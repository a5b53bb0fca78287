"""Motions that tests of clips share."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.envs.characters.character import Character
from ambulo.motion.gaits.variants import standing_cycle
from ambulo.motion.motion import Motion

FPS = 60.0


@pytest.fixture(scope="module")
def still(character: Character) -> Motion:
    """Four seconds of standing."""
    cycle = standing_cycle(character.skeleton, character.soles)
    one = cycle.motion()[:1]
    count = round(4.0 * FPS)
    return one.replace(
        fps=FPS,
        root_positions=np.repeat(one.root_positions, count, axis=0),
        rotations=np.repeat(one.rotations, count, axis=0),
    )
