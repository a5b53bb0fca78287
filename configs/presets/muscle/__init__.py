"""The presets of muscle networks: see `ambulo.configs.presets`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ambulo.configs.presets import PresetFolder

if TYPE_CHECKING:
    from ambulo.configs.muscle import MuscleRunConfig

PRESETS: PresetFolder[MuscleRunConfig] = PresetFolder(
    __name__, "ambulo.configs.muscle:MuscleRunConfig"
)
"""Description of each preset by its name."""
preset = PRESETS.load
