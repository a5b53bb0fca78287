"""The presets of muscle networks: see `ambulo.configs.presets`."""

from __future__ import annotations

from ambulo.configs.muscle import MuscleRunConfig
from ambulo.configs.presets import PresetFolder

PRESETS = PresetFolder(__name__, MuscleRunConfig)
"""Description of each preset by its name."""
preset = PRESETS.load
