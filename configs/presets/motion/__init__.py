"""The presets of motion networks: see `ambulo.configs.presets`."""

from __future__ import annotations

from ambulo.configs.motion_nn import MotionRunConfig
from ambulo.configs.presets import PresetFolder

PRESETS = PresetFolder(__name__, MotionRunConfig)
"""Description of each preset by its name."""
preset = PRESETS.load
