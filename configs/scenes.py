"""Validation of settings that name a scene of a Godot project."""

from __future__ import annotations


def check_scene(scene: str | None, world: str, level_file: str | None) -> None:
    """Raise `ValueError` for an invalid `scene`, or one that other settings exclude."""
    if scene is None:
        return
    if not scene.startswith("res://") or not scene.endswith((".tscn", ".scn")):
        raise ValueError(
            f"scene = {scene!r}: must be a scene of the project, like res://house.tscn"
        )
    if world != "godot":
        raise ValueError(f"scene = {scene}: needs world = godot, this is {world}")
    if level_file is not None:
        raise ValueError(f"scene = {scene}: excludes level_file = {level_file}")
