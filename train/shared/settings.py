"""Which settings of a run may change when it is resumed."""

from __future__ import annotations

from collections.abc import Collection

from ambulo.common.setting_flags import Settings
from ambulo.configs.errors import ConfigError


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
