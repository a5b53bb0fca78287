"""The presets of inverse-kinematics networks: see `ambulo.configs.presets`."""

from __future__ import annotations

from ambulo.configs.neural_ik import IKRunConfig
from ambulo.configs.presets import PresetFolder

PRESETS = PresetFolder(__name__, IKRunConfig)
"""Description of each preset by its name."""
preset = PRESETS.load
