"""Settings of a run from a preset, a file and flags, and which may change on resume."""

from __future__ import annotations

import argparse
from collections.abc import Collection

from ambulo.common.paths import resolve_path
from ambulo.common.setting_flags import Settings
from ambulo.configs.base import parse, read_json
from ambulo.configs.errors import ConfigError
from ambulo.configs.presets import PresetFolder


def base_config(args: argparse.Namespace, presets: PresetFolder[Settings]) -> Settings:
    """Return `--preset`, or the defaults, updated with the settings of `--config`."""
    kind = presets.config
    config = presets.load(args.preset) if args.preset else kind()
    if not args.config:
        return config
    path = resolve_path(args.config)
    given = read_json(path)
    if not isinstance(given, dict):
        return parse(kind, given, str(path))  # refused
    return config.merge(given, str(path))


def check_resumable(
    old: Settings, new: Settings, allowed: Collection[str], local: str | None = None
) -> None:
    """Raise `ConfigError` if a resumed run would become a different run.

    Args:
        old: settings that the checkpoint was made with.
        new: settings of the resumed run.
        allowed: settings of the group `training` that may change.
        local: prefix of settings that depend on the machine and may change too.
    """
    before, after = old.model_dump(), new.model_dump()
    for group, values in before.items():
        for key, value in values.items() if isinstance(values, dict) else ():
            if group == "training" and key in allowed:
                continue
            if after[group][key] != value and not (local and key.startswith(local)):
                raise ConfigError(
                    f"{group}.{key} cannot change when a run is resumed ({value!r} -> "
                    f"{after[group][key]!r}); start a new run"
                )
