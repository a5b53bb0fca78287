"""Joints of a body chosen by patterns of names and roles."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from ambulo.configs.arrays import Ints
from ambulo.configs.errors import ConfigError, nearest
from ambulo.envs.characters.character import Character
from ambulo.motion.roles import ROLES, map_of


def matching_joints(character: Character, patterns: Sequence[str]) -> tuple[str, ...]:
    """The character's joints, except the root, that match any of the shell `patterns`.

    A joint matches by its name or by the role whose part it turns.

    Raises:
        ConfigError: A pattern that matches none; of a role that a body may lack, none may.
    """
    skeleton = character.skeleton
    names = skeleton.joints[1:]
    turns: dict[str, set[str]] = {name: {name} for name in names}
    for role, chain in map_of(skeleton).chains.items():
        for joint in chain:
            turns.get(skeleton.joints[joint], set()).add(role)
    for pattern in patterns:
        known = any(fnmatchcase(role, pattern) for role in ROLES)
        if not known and not any(fnmatchcase(name, pattern) for name in names):
            raise ConfigError(
                f"{character.name}: no joint matches {pattern!r}{nearest(pattern, names)}"
            )
    return tuple(
        name
        for name in names
        if any(fnmatchcase(own, p) for own in turns[name] for p in patterns)
    )


def matching_dofs(character: Character, patterns: Sequence[str]) -> Ints:
    """Degrees of freedom of the joints that match `patterns`; see `matching_joints`."""
    return character.dofs(*matching_joints(character, patterns))
