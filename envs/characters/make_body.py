"""Physical bodies from rigs: masses and inertias by anthropometry, capsules, soles, motors."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ambulo.configs.atomic import replace_file
from ambulo.configs.errors import CharacterError, SkeletonError
from ambulo.envs.characters.capsules import Build, capsule_spec
from ambulo.motion.body_skeleton import body_skeleton
from ambulo.motion.retargeting.source import read_source
from ambulo.motion.roles.files import RolesFile
from ambulo.motion.skeleton import Skeleton

STATURE, MASS = 1.75, 75.0
"""Height, [m], and mass, [kg], of human23, whose strength is scaled."""
HEIGHTS, MASSES = (0.3, 3.0), (1.0, 500.0)
"""Allowed heights, [m], and masses, [kg]."""


@dataclass(frozen=True, eq=False)
class MadeBody:
    """A body made from a rig."""

    xml: str
    """Its MuJoCo XML."""
    skeleton: Skeleton
    """Its joints, of the rig's names, with their roles."""
    height: float
    """Stature, [m]."""
    mass: float
    """[kg]."""
    merged: dict[str, tuple[str, ...]]
    """Joints of the rig that are rigid parts of a body, by that body's joint."""
    notes: tuple[str, ...]
    """Doubts about the rig: its roles, facing, unit."""

    @property
    def roles(self) -> RolesFile:
        """Its joints by role."""
        joints = self.skeleton.joints
        return RolesFile(
            roles={role: joints[j] for role, j in self.skeleton.roles.items()}
        )

    def text(self) -> str:
        """Say in a few words how large it is."""
        return (
            f"{self.height:.2f} m, {self.mass:.1f} kg, {len(self.skeleton)} bodies, "
            f"{sum(map(len, self.skeleton.orders)) - 3} joint axes"
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the XML, whole or not at all.

        Raises:
            CharacterError: The file cannot be written.
        """
        try:
            replace_file(Path(path), self.xml.encode())
        except OSError as error:
            raise CharacterError(
                f"{path}: cannot be written: {error.strerror}"
            ) from None


def make_body(
    rig: str | os.PathLike[str] | Skeleton,
    *,
    height: float | None = None,
    mass: float | None = None,
    roles: str | os.PathLike[str] | None = None,
) -> MadeBody:
    """Return a body of capsules with the proportions of a rig.

    Args:
        rig: A motion file (BVH, AMC, NPZ, DeepMimic), a glTF, GLB or VRM file, or a
            skeleton that stands at rest, Z up.
        height: Stature, [m]; the rig's if left out.
        mass: [kg]; if left out, of human23's build: with the cube of the height.
        roles: Role map (`*.roles.json`) of its joints; found where it is left out.

    Raises:
        CharacterError: Height or mass are out of range; it is no humanoid, lacks limbs, or
            no person is of its size.
        MotionFileError: The file cannot be used.
        ConfigError: The role map cannot be read, or names joints that the file lacks.
    """
    for name, value, (low, high), unit in (
        ("height", height, HEIGHTS, "m"), ("mass", mass, MASSES, "kg"),
    ):  # fmt: skip
        if value is not None and not low <= value <= high:
            raise CharacterError(
                f"{name} {value:g} {unit}: must be from {low:g} to {high:g} {unit}"
            )
    notes: tuple[str, ...] = ()
    if not isinstance(rig, Skeleton):
        source = read_source(rig, roles=roles)
        rig, notes = source.motion.skeleton, source.notes
    try:
        found = body_skeleton(rig, height)
    except SkeletonError as error:
        raise CharacterError(str(error)) from None
    if mass is None:
        mass = MASS * (found.stature / STATURE) ** 3
    spec = capsule_spec(
        found.skeleton, mass, build=Build(length=found.legs, mass=mass / MASS)
    )
    try:
        spec.compile()
    except ValueError as error:
        why = " ".join(str(error).split())
        raise CharacterError(f"{rig.name}: no body of this rig: {why}") from None
    return MadeBody(
        spec.to_xml(), found.skeleton, found.stature, mass, found.merged,
        (*notes, *found.notes),
    )  # fmt: skip
