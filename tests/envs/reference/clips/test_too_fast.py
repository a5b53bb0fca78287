"""Files with a wrong frame rate are named by the forces that they would need."""

from __future__ import annotations

from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.raw_clip import raw_clip
from ambulo.envs.reference.clips.too_fast import too_fast
from ambulo.motion.gaits.plain_walk import plain_walk
from ambulo.motion.operations import at_speed, resample


def test_a_walk_at_three_times_its_speed_is_doubted(character: Character) -> None:
    walk = resample(plain_walk(character.skeleton).motion(4), 60.0)
    assert too_fast(raw_clip(walk, character), walk, character) is None
    fast = at_speed(walk, 3.0)
    doubt = too_fast(raw_clip(fast, character), fast, character)
    assert doubt is not None
    assert "frame rate of 180 fps" in doubt
