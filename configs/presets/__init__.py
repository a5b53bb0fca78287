"""Presets: one folder for each kind of training, one JSON file for each preset.

A file holds `description` and the settings that differ from the defaults. Every file in a
folder is a preset; there is no other list.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.resources import files
from typing import Any, Generic, TypeVar

from ambulo.configs.base import Config, json_names, parse
from ambulo.configs.errors import ConfigError, nearest

Settings = TypeVar("Settings", bound=Config)


class PresetFolder(Mapping[str, str], Generic[Settings]):
    """The presets of one package: a mapping from each name to its description."""

    def __init__(self, package: str, config: type[Settings]) -> None:
        """List the JSON files of `package`, whose settings are those of `config`."""
        self._package = package
        self.config = config
        """Class of the settings."""
        self._data = {name: self._read(name) for name in json_names(package)}
        self._loaded: dict[str, Settings] = {}

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
