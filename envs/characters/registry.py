"""All characters by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import mujoco

from ambulo.configs.errors import ConfigError, nearest
from ambulo.envs.characters.character import Character, human23
from ambulo.envs.characters.human23 import human23_spec


def _myolegs(*, muscles: bool = True) -> Character:
    from ambulo.envs.characters.myo import myolegs  # the package is optional

    return myolegs(muscles=muscles)


def _myolegs_spec(*, muscles: bool = True) -> mujoco.MjSpec:
    from ambulo.envs.characters.myo import myolegs_spec, quiet

    with quiet():
        return myolegs_spec(muscles=muscles)


CHARACTERS: dict[str, Callable[[], Character]] = {
    "human23": human23,
    "myolegs": _myolegs,
    "myolegs_motors": partial(_myolegs, muscles=False),
}
"""Every character by name."""
SPECS: dict[str, Callable[[], mujoco.MjSpec]] = {
    "human23": human23_spec,
    "myolegs": _myolegs_spec,
    "myolegs_motors": partial(_myolegs_spec, muscles=False),
}
"""The editable MuJoCo model of every character by its name."""


def load_character(name: str) -> Character:
    """The character `name`; `ConfigError` lists what there is."""
    check_character(name)
    return CHARACTERS[name]()


def check_character(name: str) -> None:
    """Raise `ConfigError`, which lists what there is, if there is no character `name`."""
    if name not in CHARACTERS:
        raise ConfigError(f"unknown character {name!r}{nearest(name, CHARACTERS)}")
