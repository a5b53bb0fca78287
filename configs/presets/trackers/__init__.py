"""The presets of body trackers: see `ambulo.configs.presets`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ambulo.configs.presets import PresetFolder

if TYPE_CHECKING:
    from ambulo.configs.body_tracker import TrackerRunConfig

PRESETS: PresetFolder[TrackerRunConfig] = PresetFolder(
    __name__, "ambulo.configs.body_tracker:TrackerRunConfig"
)
"""Description of each preset by its name."""
preset = PRESETS.load
