"""The presets of gait networks: see `ambulo.configs.presets`."""

from __future__ import annotations

from ambulo.configs.gait_net import GaitNetRunConfig
from ambulo.configs.presets import PresetFolder

PRESETS = PresetFolder(__name__, GaitNetRunConfig)
"""Description of each preset by its name."""
preset = PRESETS.load
