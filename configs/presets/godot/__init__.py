"""The presets of Godot games: see `ambulo.configs.presets`."""

from __future__ import annotations

from ambulo.configs.godot import GodotConfig
from ambulo.configs.presets import PresetFolder

PRESETS = PresetFolder(__name__, GodotConfig)
"""Description of each preset by its name."""
preset = PRESETS.load
