"""The canonical skeletons and rigs by file: JSON to `Skeleton`.

Motion files contain their own skeletons (`ambulo.motion.formats.files`).
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Annotated

import numpy as np
from pydantic import Field

from ambulo.configs.base import Config, load_json, parse
from ambulo.configs.errors import SkeletonError, nearest
from ambulo.configs.reading import json_names
from ambulo.motion.skeleton import Skeleton

SKELETONS = json_names("ambulo.configs.skeletons")
"""The canonical skeletons: the files of `configs/skeletons`."""

Point = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


class JointData(Config):
    """One joint of a skeleton file."""

    name: str
    """Its name, unique in the file."""
    parent: str | None
    """Parent joint, listed before it; null for the root."""
    offset: Point
    """Position in the parent's frame, [m]; for the root: its position at rest."""
    rest: Quaternion = (1.0, 0.0, 0.0, 0.0)
    """Orientation at rest in the parent's frame, wxyz."""
    axes: Quaternion = (1.0, 0.0, 0.0, 0.0)
    """Frame in which the angles are measured, wxyz."""
    order: str = "ZXY"
    """Rotation axes, intrinsic order; "" for a fixed joint."""
    limits_deg: tuple[tuple[float, float], ...] = ()
    """Lower and upper limit of each angle, [deg]; a whole turn by default."""


class TipData(Config):
    """The end of a bone without a child joint, or another marked point."""

    joint: str
    """The joint in whose frame it lies."""
    name: str
    """Kind of point: toe, heel, finger, thumb, top, eye."""
    offset: Point
    """Position in the joint's frame, [m]."""


class SegmentData(Config):
    """The mass of a body segment, as a fraction of the whole (see "source" in the file)."""

    name: str
    """Its name; limbs are named once for both sides."""
    mass: Annotated[float, Field(gt=0.0, lt=1.0)]
    """Mass over the body's mass."""
    between: str
    """The two landmarks between which `at` is measured."""
    at: Annotated[float, Field(ge=0.0, le=1.0)]
    """Centre of mass, as a fraction of the distance from the first landmark to the second."""
    gyration: Point
    """Radii of gyration (sagittal, transverse, longitudinal) over that distance."""


class SkeletonFile(Config):
    """Contents of a skeleton's JSON file."""

    name: str
    """Name of the skeleton."""
    source: tuple[str, ...] = ()
    """Sources of the numbers."""
    joints: Annotated[tuple[JointData, ...], Field(min_length=1)]
    """The joints, parents first."""
    tips: tuple[TipData, ...] = ()
    """Ends of bones."""
    roles: dict[str, str] = Field(default_factory=dict)
    """The joint of each role (see `ambulo.motion.roles`)."""
    segments: tuple[SegmentData, ...] = ()
    """Body segments and their masses."""


def skeleton_file(name: str) -> SkeletonFile:
    """The data of the canonical skeleton `name`, or of the file, if it ends in .json."""
    return load_json(SkeletonFile, name) if name.endswith(".json") else _shipped(name)


def load_skeleton(name: str) -> Skeleton:
    """The canonical skeleton `name`, or the one in the file, if it ends in .json.

    Raises:
        SkeletonError: The skeleton is missing, or its tree breaks a rule.
        ConfigError: A file cannot be read or has wrong keys.
    """
    return (
        _built(load_json(SkeletonFile, name)) if name.endswith(".json") else _kept(name)
    )


@cache
def _shipped(name: str) -> SkeletonFile:
    if name not in SKELETONS:
        raise SkeletonError(f"unknown skeleton {name!r}{nearest(name, SKELETONS)}")
    folder = files("ambulo.configs.skeletons")
    text = folder.joinpath(f"{name}.json").read_text(encoding="utf-8")
    return parse(SkeletonFile, json.loads(text), f"skeleton {name}")


@cache
def _kept(name: str) -> Skeleton:
    return _built(_shipped(name))


def _built(data: SkeletonFile) -> Skeleton:
    """The skeleton of `data`; `SkeletonError` names a mismatch."""
    index = {joint.name: i for i, joint in enumerate(data.joints)}

    def at(joint: str, wanted_by: str) -> int:
        if joint not in index:
            raise SkeletonError(
                f"{data.name}: {wanted_by} names joint {joint!r}{nearest(joint, index)}"
            )
        return index[joint]

    return Skeleton(
        name=data.name,
        joints=tuple(joint.name for joint in data.joints),
        parents=tuple(
            -1 if joint.parent is None else at(joint.parent, joint.name)
            for joint in data.joints
        ),
        offsets=np.array([joint.offset for joint in data.joints]),
        rest=np.array([joint.rest for joint in data.joints]),
        orders=tuple(joint.order for joint in data.joints),
        axes=np.array([joint.axes for joint in data.joints]),
        limits=np.deg2rad(
            [pair for joint in data.joints for pair in _limits(data, joint)]
        ),
        tip_parents=tuple(at(tip.joint, f"tip {tip.name}") for tip in data.tips),
        tips=np.array([tip.offset for tip in data.tips]).reshape(-1, 3),
    )


def _limits(data: SkeletonFile, joint: JointData) -> tuple[tuple[float, float], ...]:
    if not joint.limits_deg:
        return ((-180.0, 180.0),) * len(joint.order)
    if len(joint.limits_deg) != len(joint.order):
        raise SkeletonError(
            f"{data.name}: {joint.name} has {len(joint.order)} angles, "
            f"but {len(joint.limits_deg)} limits"
        )
    return joint.limits_deg
