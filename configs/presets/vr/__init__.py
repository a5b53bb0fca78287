"""The presets of VR navigation: see `ambulo.configs.presets`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ambulo.configs.presets import PresetFolder

if TYPE_CHECKING:
    from ambulo.configs.vr import NavigationConfig

PRESETS: PresetFolder[NavigationConfig] = PresetFolder(
    __name__, "ambulo.configs.vr:NavigationConfig"
)
"""Description of each preset by its name."""
preset = PRESETS.load
