"""Clips from files: a part of one motion file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambulo.configs.errors import ConfigError, MotionError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.read_clips import read_clips
from ambulo.motion.formats.files import write_motion
from ambulo.motion.gaits.plain_walk import plain_walk


@pytest.mark.integration
def test_a_part_of_one_motion_file(tmp_path: Path, character: Character) -> None:
    walk = plain_walk(character.skeleton).motion(cycles=4)
    write_motion(tmp_path / "walk.bvh", walk)
    whole = read_clips([tmp_path / "walk.bvh"], character, 1 / 30)
    half = len(walk) // 2
    part = read_clips([tmp_path / "walk.bvh"], character, 1 / 30, frames=f"{half}:")
    share = len(part.table.qpos) / len(whole.table.qpos)
    assert share == pytest.approx(0.5, abs=0.05)
    with pytest.raises(MotionError, match="--frames 0:9999: the clip has the frames"):
        read_clips([tmp_path / "walk.bvh"], character, 1 / 30, frames="0:9999")
    write_motion(tmp_path / "other.bvh", walk)
    with pytest.raises(ConfigError, match="--frames 0:9: is for one motion file"):
        read_clips([tmp_path], character, 1 / 30, frames="0:9")
