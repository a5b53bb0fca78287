"""The presets of locomotion: see `ambulo.configs.presets`."""

from __future__ import annotations

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.presets import PresetFolder

PRESETS = PresetFolder(__name__, LocomotionConfig)
"""Description of each preset by its name."""
preset = PRESETS.load
