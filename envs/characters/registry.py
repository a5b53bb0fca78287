"""All characters by name."""

from __future__ import annotations

from collections.abc import Callable

from ambulo.configs.errors import ConfigError, nearest
from ambulo.envs.characters.character import Character, human23


def _myolegs() -> Character:
    from ambulo.envs.characters.myo import myolegs  # the package is optional

    return myolegs()


def _myolegs_motors() -> Character:
    from ambulo.envs.characters.myo import myolegs

    return myolegs(muscles=False)


CHARACTERS: dict[str, Callable[[], Character]] = {
    "human23": human23,
    "myolegs": _myolegs,
    "myolegs_motors": _myolegs_motors,
}
"""Every character by name."""


def load_character(name: str) -> Character:
    """The character `name`; `ConfigError` lists what there is."""
    if name not in CHARACTERS:
        raise ConfigError(f"unknown character {name!r}{nearest(name, CHARACTERS)}")
    return CHARACTERS[name]()
