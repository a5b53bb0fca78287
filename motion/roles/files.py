"""Role maps as files, `*.roles.json`: the same for a body, a BVH, a GLB and an armature."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from ambulo.configs.arrays import Floats
from ambulo.configs.atomic import replace_file
from ambulo.configs.base import Config, load_json
from ambulo.configs.errors import ConfigError, nearest
from ambulo.motion.roles.finder import RoleMap, in_order
from ambulo.motion.roles.tree import ROLES
from ambulo.motion.skeleton import Skeleton

Direction = tuple[float, float, float]


class RolesFile(Config):
    """Contents of a role map's file."""

    roles: dict[str, str] = Field(min_length=1)
    """The joint of each role."""
    chains: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """All joints that turn the part of a role, its own among them; only itself if left out."""
    up: Direction | None = None
    """Direction up in the axes in which positions are read."""
    forward: Direction | None = None
    """Front in the same axes."""
    notes: tuple[str, ...] = ()
    """Doubts when the map was made; for people."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse unknown roles, joints that are named twice, and chains of other joints."""
        for role in (*self.roles, *self.chains):
            if role not in ROLES:
                raise ValueError(f"roles: unknown role {role!r}{nearest(role, ROLES)}")
        seen: dict[str, str] = {}
        for role, joint in self.roles.items():
            chain = self.chains.get(role, (joint,))
            if joint not in chain:
                raise ValueError(f"chains.{role}: lacks the role's joint {joint!r}")
            for one in chain:
                if one in seen:
                    raise ValueError(f"{one!r} is named twice: {seen[one]} and {role}")
                seen[one] = role
        if lone := self.chains.keys() - self.roles.keys():
            raise ValueError(f"chains.{min(lone)}: the role has no joint")
        return self

    def joints(self, names: Sequence[str], source: str) -> dict[str, int]:
        """Return the index of each role's joint among `names`, in the order of `ROLES`.

        Raises:
            ConfigError: A joint of the map is none of them.
        """
        index = {name: i for i, name in enumerate(names)}
        named = {
            **self.roles,
            **{f"chains.{r}": j for r, c in self.chains.items() for j in c},
        }
        for role, joint in named.items():
            if joint not in index:
                raise ConfigError(
                    f"{source}: {role}: no joint {joint!r}{nearest(joint, index)}"
                )
        return in_order({role: index[joint] for role, joint in self.roles.items()})


def read_roles(path: str | os.PathLike[str]) -> RolesFile:
    """Return the role map in a file.

    Raises:
        ConfigError: It cannot be read, names an unknown role or a joint twice.
    """
    return load_json(RolesFile, path)


def roles_beside(path: str | os.PathLike[str]) -> Path | None:
    """Return the role map beside a file, `NAME.roles.json`; None if there is none."""
    beside = Path(path).with_suffix(".roles.json")
    return beside if beside.is_file() else None


def roles_file(found: RoleMap, joints: Sequence[str]) -> RolesFile:
    """Return a role map as the contents of a file, by the names of its joints."""

    def direction(vector: Floats | None) -> Direction | None:
        if vector is None:
            return None
        x, y, z = (round(float(v), 6) for v in vector)
        return x, y, z

    return RolesFile(
        roles={role: joints[j] for role, j in found.joints.items()},
        chains={
            role: tuple(joints[j] for j in chain)
            for role, chain in found.chains.items()
            if len(chain) > 1
        },
        up=direction(found.up),
        forward=direction(found.forward),
        notes=(*found.notes, found.refusal) if found.refusal else found.notes,
    )


def write_roles(path: str | os.PathLike[str], roles: RolesFile) -> None:
    """Write a role map atomically.

    Raises:
        ConfigError: The file cannot be written.
    """
    try:
        replace_file(Path(path), roles.to_json().encode())
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None


def with_map(skeleton: Skeleton, path: str | os.PathLike[str]) -> Skeleton:
    """Return a skeleton with the roles of the map in a file.

    Raises:
        ConfigError: The map cannot be read or does not fit the skeleton.
    """
    return skeleton.replace(roles=read_roles(path).joints(skeleton.joints, str(path)))
