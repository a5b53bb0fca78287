"""The presets of VR navigation: see `ambulo.configs.presets`."""

from __future__ import annotations

from ambulo.configs.presets import PresetFolder
from ambulo.configs.vr import NavigationConfig

PRESETS = PresetFolder(__name__, NavigationConfig)
"""Description of each preset by its name."""
preset = PRESETS.load
