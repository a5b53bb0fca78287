"""The presets of motion networks: see `ambulo.configs.presets`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ambulo.configs.presets import PresetFolder

if TYPE_CHECKING:
    from ambulo.configs.motion_nn import MotionRunConfig

PRESETS: PresetFolder[MotionRunConfig] = PresetFolder(
    __name__, "ambulo.configs.motion_nn:MotionRunConfig"
)
"""Description of each preset by its name."""
preset = PRESETS.load
