"""The presets of body trackers: see `ambulo.configs.presets`."""

from __future__ import annotations

from ambulo.configs.body_tracker import TrackerRunConfig
from ambulo.configs.presets import PresetFolder

PRESETS = PresetFolder(__name__, TrackerRunConfig)
"""Description of each preset by its name."""
preset = PRESETS.load
