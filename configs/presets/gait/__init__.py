"""The presets of gait networks: see `ambulo.configs.presets`."""

from __future__ import annotations

from ambulo.configs.presets import PresetFolder
from ambulo.configs.ref_nn import RefRunConfig

PRESETS = PresetFolder(__name__, RefRunConfig)
"""Description of each preset by its name."""
preset = PRESETS.load
