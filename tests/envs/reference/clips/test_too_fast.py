"""Files with a wrong frame rate are named by the forces that they would need."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.raw_clip import MAX_SECONDS
from ambulo.envs.reference.clips.support import too_fast
from ambulo.motion.gaits.plain_walk import plain_walk
from ambulo.motion.motion import Motion
from ambulo.motion.operations import at_speed, resample


def test_a_walk_at_three_times_its_speed_is_doubted(character: Character) -> None:
    walk = resample(plain_walk(character.skeleton).motion(4), 60.0)
    assert too_fast(walk, character) is None
    doubt = too_fast(at_speed(walk, 3.0), character)
    assert doubt is not None
    assert "--speed" in doubt


@pytest.mark.integration
def test_what_stands_on_nothing_does_so_at_any_speed(
    character: Character, still: Motion
) -> None:
    part = np.clip(still.times - 1.0, 0.0, 1.0)
    path = np.outer(part * part * (3.0 - 2.0 * part), [0.0, 0.0, 0.6])
    ladder = still.replace(root_positions=still.root_positions + path)
    assert too_fast(ladder, character) is None
    long = at_speed(
        ladder, still.duration / (0.75 * MAX_SECONDS)
    )  # twice it is too long
    assert too_fast(long, character) is None
