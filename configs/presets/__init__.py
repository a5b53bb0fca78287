"""Presets: one folder for each kind of training, one JSON file for each preset.

A file holds `description` and the settings that differ from the defaults. Every file in a
folder is a preset; there is no other list.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ambulo.configs.errors import ConfigError, nearest

if TYPE_CHECKING:
    from ambulo.configs.base import Config
    from ambulo.configs.body_tracker import TrackerRunConfig
    from ambulo.configs.gait_net import GaitNetRunConfig
    from ambulo.configs.godot import GodotConfig
    from ambulo.configs.locomotion import LocomotionConfig
    from ambulo.configs.motion_nn import MotionRunConfig
    from ambulo.configs.muscle import MuscleRunConfig
    from ambulo.configs.neural_ik import IKRunConfig
    from ambulo.configs.vr import NavigationConfig

Settings = TypeVar("Settings", bound="Config")


class PresetFolder(Mapping[str, str], Generic[Settings]):
    """The presets of one folder: a mapping from each name to its description."""

    def __init__(self, folder: str, source: str) -> None:
        """Name a folder.

        Args:
            folder: Name of the folder beside this file.
            source: `module:Class` of the settings, imported at first use.
        """
        self.folder, self.source = folder, f"ambulo.configs.{source}"
        self._loaded: dict[str, Settings] = {}

    @cached_property
    def _data(self) -> dict[str, Any]:
        """Contents of the JSON files by their names without `.json`, in order."""
        folder = files(__name__).joinpath(self.folder)
        found = sorted(folder.iterdir(), key=lambda file: file.name)
        return {
            file.name.removesuffix(".json"): json.loads(file.read_text("utf-8"))
            for file in found
            if file.name.endswith(".json")
        }

    @cached_property
    def config(self) -> type[Settings]:
        """Class of the settings."""
        config: type[Settings] = pkgutil.resolve_name(self.source)
        return config

    def __getitem__(self, name: str) -> str:
        return str(self._data[name]["description"])

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def load(self, name: str) -> Settings:
        """Return the configuration of the preset `name`.

        Raises:
            ConfigError: The preset does not exist.
        """
        if name not in self._data:
            raise ConfigError(f"unknown preset {name!r}{nearest(name, self._data)}")
        if name not in self._loaded:
            data = self._data[name]
            from ambulo.configs.base import parse

            settings = {key: data[key] for key in data if key != "description"}
            self._loaded[name] = parse(self.config, settings, f"preset {name}")
        return self._loaded[name]


GAIT_PRESETS: PresetFolder[GaitNetRunConfig] = PresetFolder(
    "gait", "gait_net:GaitNetRunConfig"
)
GODOT_PRESETS: PresetFolder[GodotConfig] = PresetFolder("godot", "godot:GodotConfig")
IK_PRESETS: PresetFolder[IKRunConfig] = PresetFolder("ik", "neural_ik:IKRunConfig")
LOCOMOTION_PRESETS: PresetFolder[LocomotionConfig] = PresetFolder(
    "locomotion", "locomotion:LocomotionConfig"
)
MOTION_PRESETS: PresetFolder[MotionRunConfig] = PresetFolder(
    "motion", "motion_nn:MotionRunConfig"
)
MUSCLE_PRESETS: PresetFolder[MuscleRunConfig] = PresetFolder(
    "muscle", "muscle:MuscleRunConfig"
)
TRACKERS_PRESETS: PresetFolder[TrackerRunConfig] = PresetFolder(
    "trackers", "body_tracker:TrackerRunConfig"
)
VR_PRESETS: PresetFolder[NavigationConfig] = PresetFolder("vr", "vr:NavigationConfig")


def preset_folders() -> dict[str, PresetFolder[Any]]:
    """Return the presets of every kind of training by the name of their folder."""
    folders = (
        GAIT_PRESETS,
        GODOT_PRESETS,
        IK_PRESETS,
        LOCOMOTION_PRESETS,
        MOTION_PRESETS,
        MUSCLE_PRESETS,
        TRACKERS_PRESETS,
        VR_PRESETS,
    )
    return {presets.folder: presets for presets in folders}
