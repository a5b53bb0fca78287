"""All characters by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

import mujoco

from ambulo.configs.base import load_json
from ambulo.configs.body import BodyRecord
from ambulo.configs.errors import ConfigError, nearest
from ambulo.envs.characters.character import Character, human23
from ambulo.envs.characters.human23 import human23_spec
from ambulo.envs.characters.own.reading import is_own
from ambulo.envs.characters.own.record import character_of
from ambulo.motion.formats.files import names_motion
from ambulo.motion.retargeting.source import target_in
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import SKELETONS, load_skeleton

RECORD_FILE = ".body.json"
"""End of the name of a file that holds a prepared body."""


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


def load_character(
    name: str, record: BodyRecord | None = None, *, muscles: bool = False
) -> Character:
    """The character `name`: one of `CHARACTERS`, or a body of the user's.

    Args:
        name: A name, a file (`FILE.xml` and `FILE.urdf` as they are, `FILE.body.json`
            prepared), or a function `package:function` that makes a model.
        record: What was prepared of it before (with a model, for example).
        muscles: Whether a body of the user's is driven by its muscles, if it has any.

    Raises:
        ConfigError: No such name, which lists what there is; or a body that cannot be used.
    """
    if name in CHARACTERS:
        return CHARACTERS[name]()
    return character_of(
        body_record(name) if record is None else record, muscles=muscles
    )


def load_spec(name: str, record: BodyRecord | None = None) -> mujoco.MjSpec:
    """The editable MuJoCo model of the character `name`; arguments as `load_character`."""
    if name in SPECS:
        return SPECS[name]()
    made = load_character(name, record).spec
    assert made is not None
    return made()


def body_record(name: str) -> BodyRecord:
    """Record of the user's body `name`; errors as `load_character`."""
    if name.endswith(RECORD_FILE):
        return load_json(BodyRecord, name)
    check_character(name)
    if name in CHARACTERS:
        raise ConfigError(f"{name} is a body of the suite's")
    path = Path(name)
    stamps = [
        file.stat().st_mtime_ns if file.is_file() else 0
        for file in (
            path,
            path.with_suffix(RECORD_FILE),
            path.with_suffix(".roles.json"),
        )
    ]
    return _prepared(name, tuple(stamps))


@lru_cache(maxsize=16)
def _prepared(name: str, stamps: tuple[int, ...]) -> BodyRecord:
    del stamps  # part of the key: a changed file is read again
    from ambulo.envs.characters.own.prepare import prepare_body

    return prepare_body(name)


def check_character(name: str) -> None:
    """Raise `ConfigError`, which lists what there is, if `name` can be no character."""
    if name not in CHARACTERS and not (is_own(name) or name.endswith(RECORD_FILE)):
        raise ConfigError(
            f"unknown character {name!r}{nearest(name, CHARACTERS)}; a body of your own is"
            " FILE.xml, FILE.urdf or package:function"
        )


def skeleton_of(name: str) -> Skeleton:
    """The skeleton `name`: a canonical one, or that of a user's body or motion file.

    Raises:
        SkeletonError: No such skeleton, and no body either.
        ConfigError: A body that cannot be used.
        MotionFileError: A motion file that cannot be read.
    """
    if names_motion(name):
        return target_in(name)[0]
    if name in SKELETONS or not is_own(name):
        return load_skeleton(name)
    return load_character(name).skeleton
