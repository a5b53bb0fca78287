"""Presets: one folder for each kind of training, one JSON file for each preset.

A file holds `description` and the settings that differ from the defaults. Every file in a
folder is a preset; there is no other list.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.reading import json_names

if TYPE_CHECKING:
    from ambulo.configs.base import Config

Settings = TypeVar("Settings", bound="Config")


class PresetFolder(Mapping[str, str], Generic[Settings]):
    """The presets of one package: a mapping from each name to its description."""

    def __init__(self, package: str, source: str) -> None:
        """List the JSON files of a package.

        Args:
            package: The package.
            source: `module:Class` of the settings, imported at first use.
        """
        self._package = package
        self.source = source
        self._data = {name: self._read(name) for name in json_names(package)}
        self._loaded: dict[str, Settings] = {}

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

    def _read(self, name: str) -> dict[str, Any]:
        text = files(self._package).joinpath(f"{name}.json").read_text("utf-8")
        data: dict[str, Any] = json.loads(text)
        return data


def preset_folders() -> dict[str, PresetFolder[Any]]:
    """Return the presets of every kind of training by the name of their folder."""
    return {
        folder.name: import_module(f"{__name__}.{folder.name}").PRESETS
        for folder in pkgutil.iter_modules(__path__)
        if folder.ispkg
    }
