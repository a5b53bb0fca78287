"""Single settings from flags: `--set GROUP.KEY=VALUE` of all commands."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from ambulo.common.command_line import Arg, Flags
from ambulo.common.flag_types import Assignments, assignment
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.json_text import json_value

if TYPE_CHECKING:
    from ambulo.configs.base import Config
    from ambulo.configs.presets import PresetFolder

Settings = TypeVar("Settings", bound="Config")
Change = tuple[str, Any, str]
"""A dotted key, its new value, and its flag."""


@dataclass(frozen=True, kw_only=True)
class SettingFlags(Flags):
    """Settings from a preset, a file and single ones."""

    preset: Annotated[str | None, Arg("NAME")] = None
    """settings of this preset"""
    config: Annotated[str | None, Arg("FILE")] = None
    """JSON settings, over the preset"""
    overrides: Annotated[Assignments, Arg("KEY=VALUE", ("--set",), repeated=True)] = ()
    """one setting, such as training.seed=1 (repeatable)"""

    def base_of(self, presets: PresetFolder[Settings]) -> Settings:
        """Return the preset, or the defaults, updated with the settings of the file."""
        from ambulo.configs.base import parse, read_json

        config = presets.load(self.preset) if self.preset else presets.config()
        if not self.config:
            return config
        path = resolve_path(self.config)
        given = read_json(path)
        if not isinstance(given, dict):
            return parse(presets.config, given, str(path))  # refused
        return config.merge(given, str(path))

    def config_of(self, presets: PresetFolder[Settings]) -> Settings:
        """Return the settings that are chosen among `presets`."""
        return with_overrides(self.base_of(presets), self.overrides)


def with_changes(config: Settings, changes: Sequence[Change]) -> Settings:
    """Return `config` with all `changes`, validated together.

    Settings that depend on each other may be in any order. An error names the flag of the
    change that is invalid on its own, if there is one.
    """
    try:
        return _changed(config, changes)
    except ConfigError as error:
        for change in changes:
            if change[0] in str(error):
                _raise_alone(config, change, error)
        raise


def _raise_alone(config: Settings, change: Change, error: ConfigError) -> None:
    """Raise the error of a single change, if it equals `error` except for the flag."""
    try:
        _changed(config, [change])
    except ConfigError as alone:
        if str(alone).partition(": ")[2] == str(error).partition(": ")[2]:
            raise


def with_overrides(config: Settings, overrides: Sequence[str]) -> Settings:
    """Return `config` with each `group.key=value` of `--set`."""
    return with_changes(config, [parse_override(text) for text in overrides])


def parse_override(text: str) -> Change:
    """Return the change of `--set KEY=VALUE`; the value is JSON or text.

    `[a,b]` is a list of texts too: shells remove quotes.
    """
    key, value = assignment(text, "KEY=VALUE, with a dotted key")
    try:
        json.loads(value)
    except ValueError:  # not JSON, so it is text
        words = value[1:-1]
        if value[:1] == "[" and value[-1:] == "]" and not set(words) & set("[]{}\"'"):
            return key, _split(words), "--set"
        if value[:1] in ("[", "{"):
            raise ConfigError(
                f"--set {key:.60}: {value:.60} is not JSON; lists are written A,B or "
                """'["A", "B"]', groups '{"KEY": VALUE}'"""
            ) from None
        return key, value, "--set"
    except RecursionError:
        pass
    try:
        return key, json_value(value), "--set"
    except ValueError as error:
        raise ConfigError(f"--set {key:.60}: {error}") from None


def _changed(config: Settings, changes: Sequence[Change]) -> Settings:
    from ambulo.configs.base import group_class, merge_settings, parse, plain_types

    data = config.explicit_settings()
    for key, value, source in changes:
        *groups, name = key.split(".")
        place: Any = data if groups else None
        kind: type[Config] | None = type(config)
        current: Any = config
        for depth, group in enumerate(groups):
            if not isinstance(place, dict):
                break
            kind, current = group_class(kind, group), _current(current, group)
            inner = place.get(group, current)
            # A group that is off by default gets its defaults.
            if inner is None and depth:
                inner = {}
            if isinstance(inner, dict):
                inner = place[group] = dict(inner)
            place = inner
        if not isinstance(place, dict):
            first = groups[0] if groups else name
            whole = first == key and first in data
            hint = f": name one of {key}.*" if whole else nearest(first, data)
            raise ConfigError(
                f"{source}: {key!r} is not a dotted key such as ppo.learning_rate{hint}"
            )
        field = None if kind is None else kind.model_fields.get(name)
        is_list = field is not None and tuple in plain_types(field.annotation)
        given = _split(value) if is_list and isinstance(value, str) else value
        merge_settings(kind, place, {name: given})
    sources = {source for _, _, source in changes}
    return parse(
        type(config), data, " ".join(sources) if len(sources) == 1 else "flags"
    )


def _split(text: str) -> list[str]:
    """Return the texts between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _current(group: Any, name: str) -> Any:
    """Return a value of a group, set or default; None if it has none."""
    if isinstance(group, Mapping):
        return group.get(name)
    from ambulo.configs.base import Config

    return getattr(group, name, None) if isinstance(group, Config) else None
