"""The presets of locomotion: see `ambulo.configs.presets`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ambulo.configs.presets import PresetFolder

if TYPE_CHECKING:
    from ambulo.configs.locomotion import LocomotionConfig

PRESETS: PresetFolder[LocomotionConfig] = PresetFolder(
    __name__, "ambulo.configs.locomotion:LocomotionConfig"
)
"""Description of each preset by its name."""
preset = PRESETS.load
