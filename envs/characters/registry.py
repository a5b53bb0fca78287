"""All characters by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ambulo.configs.errors import ConfigError, nearest
from ambulo.envs.characters.character import Character, human23


def _myolegs(*, muscles: bool = True) -> Character:
    from ambulo.envs.characters.myo import myolegs  # the package is optional

    return myolegs(muscles=muscles)


CHARACTERS: dict[str, Callable[[], Character]] = {
    "human23": human23,
    "myolegs": _myolegs,
    "myolegs_motors": partial(_myolegs, muscles=False),
}
"""Every character by name."""


def load_character(name: str) -> Character:
    """The character `name`; `ConfigError` lists what there is."""
    if name not in CHARACTERS:
        raise ConfigError(f"unknown character {name!r}{nearest(name, CHARACTERS)}")
    return CHARACTERS[name]()
