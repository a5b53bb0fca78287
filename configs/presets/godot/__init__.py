"""The presets of Godot games: see `ambulo.configs.presets`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ambulo.configs.presets import PresetFolder

if TYPE_CHECKING:
    from ambulo.configs.godot import GodotConfig

PRESETS: PresetFolder[GodotConfig] = PresetFolder(
    __name__, "ambulo.configs.godot:GodotConfig"
)
"""Description of each preset by its name."""
preset = PRESETS.load
