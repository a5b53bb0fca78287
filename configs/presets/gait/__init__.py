"""The presets of gait networks: see `ambulo.configs.presets`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ambulo.configs.presets import PresetFolder

if TYPE_CHECKING:
    from ambulo.configs.gait_net import GaitNetRunConfig

PRESETS: PresetFolder[GaitNetRunConfig] = PresetFolder(
    __name__, "ambulo.configs.gait_net:GaitNetRunConfig"
)
"""Description of each preset by its name."""
preset = PRESETS.load
