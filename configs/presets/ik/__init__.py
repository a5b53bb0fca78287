"""The presets of inverse-kinematics networks: see `ambulo.configs.presets`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ambulo.configs.presets import PresetFolder

if TYPE_CHECKING:
    from ambulo.configs.neural_ik import IKRunConfig

PRESETS: PresetFolder[IKRunConfig] = PresetFolder(
    __name__, "ambulo.configs.neural_ik:IKRunConfig"
)
"""Description of each preset by its name."""
preset = PRESETS.load
