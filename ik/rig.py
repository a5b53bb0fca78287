"""The rig: a skeleton with its targets, joint limits and joint stiffness.

A rig file (`configs/rigs/NAME.json`, or a user's) names the skeleton, the joints with targets
and the swing-twist limits in degrees; see docs/ik.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from ambulo.configs.arrays import Floats
from ambulo.configs.base import Config, load_json, parse
from ambulo.configs.errors import SkeletonError, nearest
from ambulo.configs.reading import json_names
from ambulo.motion.kinematics import rest_kinematics
from ambulo.motion.rotations import SwingTwist, from_swing_twist
from ambulo.motion.skeleton import Skeleton, frozen
from ambulo.motion.skeletons import load_skeleton

EFFECTORS = ("LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head")
"""The effectors, in the order of every array of targets."""

TARGETS = (*EFFECTORS, "Hips")
"""The rows of `Targets`: the effectors, then the hips."""

RIGS = json_names("ambulo.configs.rigs")
"""The shipped rigs: the files of `configs/rigs`."""

Degrees = Annotated[float, Field(gt=0.0, le=180.0)]


class SwingData(Config):
    """The four radii of a swing cone, [deg]."""

    x: tuple[Degrees, Degrees]
    """Largest swing about -X and about +X."""
    z: tuple[Degrees, Degrees]
    """Largest swing about -Z and about +Z."""


class LimitData(Config):
    """Limits of one joint; omitted ones are free."""

    swing: SwingData | None = None
    """The cone of the bone's direction."""
    twist: tuple[float, float] | None = None
    """Smallest and largest twist about the bone, [deg]."""
    stiffness: Annotated[float, Field(gt=0.0)] = 1.0
    """Relative cost of rotating this joint; the default is 1."""

    @model_validator(mode="after")
    def _ordered(self) -> LimitData:
        if (
            self.twist is not None
            and not -180.0 <= self.twist[0] <= 0.0 <= self.twist[1] <= 180.0
        ):
            raise ValueError(
                "twist must be (low, high) with -180 <= low <= 0 <= high <= 180"
            )
        return self


class TargetData(Config):
    """One row of the targets."""

    joint: str
    """The joint that follows the target."""
    base: str
    """First joint of the limb that reaches for the target: the upper arm, the thigh, the
    hips."""


class RigFile(Config):
    """Content of a rig's JSON file."""

    name: str
    """Its name."""
    source: tuple[str, ...] = ()
    """Sources of the numbers."""
    skeleton: str
    """A canonical skeleton, or a skeleton file that ends in .json, beside the rig's."""
    targets: dict[str, TargetData]
    """Joint and base of each of `TARGETS`."""
    limits: dict[str, LimitData]
    """Limits of joints; a joint left out is free."""
    root_stiffness: Annotated[float, Field(gt=0.0)] = 1.0
    """Cost of moving the root, relative to rotating a joint by one radian, [1/m]."""
    start: dict[str, tuple[float, float, float]] = Field(default_factory=dict)
    """(swing x, twist, swing z) of joints in the starting pose, [deg]; else 0."""
    start_height: Annotated[float, Field(gt=0.0)]
    """Height of the root in the starting pose, [m]."""

    @model_validator(mode="after")
    def _all_targets(self) -> RigFile:
        if set(self.targets) != set(TARGETS):
            raise ValueError(f"targets must name {', '.join(TARGETS)}, each once")
        return self


@dataclass(frozen=True, eq=False)
class Rig:
    """A skeleton of J joints with its targets, limits and stiffness."""

    name: str
    """Its name."""
    skeleton: Skeleton
    """Joints, offsets and rest frames, local Y along the bones."""
    effectors: tuple[int, ...]
    """The joint of each of `TARGETS`; the last is the root."""
    bases: tuple[int, ...]
    """First joint of the limb of each of `TARGETS`."""
    swing: Floats
    """Radii of the swing cones about -X, +X, -Z, +Z, [rad]; inf is free. Shape (J, 4)."""
    twist: Floats
    """Lowest and highest twist, [rad]; -inf and inf are free. Shape (J, 2)."""
    stiffness: Floats
    """Cost of rotating each joint. Shape (J,)."""
    root_stiffness: float = 1.0
    """Cost of moving the root, [1/m]."""
    start: Floats = field(default_factory=lambda: np.zeros((0, 4)))
    """Local rotations of the starting pose. Shape (J, 4); identities if left out."""
    start_height: float = 1.0
    """Height of the root in the starting pose, [m]."""

    def __post_init__(self) -> None:
        """Validate the fields; raise `SkeletonError` naming the rule that is broken."""
        count = len(self.skeleton)
        identity = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
        start = frozen(
            self.start if len(self.start) else identity,
            (count, 4),
            f"{self.name}: start",
        )
        object.__setattr__(self, "start", start)
        for name, shape in (
            ("swing", (count, 4)),
            ("twist", (count, 2)),
            ("stiffness", (count,)),
        ):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != shape or np.isnan(array).any():
                raise SkeletonError(
                    f"{self.name}: {name}: expected numbers of shape {shape}, got {array.shape}"
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if (self.swing <= 0.0).any():
            raise SkeletonError(f"{self.name}: every swing radius must be above 0")
        if (self.twist[:, 0] > 0.0).any() or (self.twist[:, 1] < 0.0).any():
            raise SkeletonError(f"{self.name}: every twist range must hold 0")
        if not (np.isfinite(self.stiffness).all() and (self.stiffness > 0.0).all()):
            raise SkeletonError(f"{self.name}: every stiffness must be above 0")
        if len(self.effectors) != len(TARGETS) or len(self.bases) != len(TARGETS):
            raise SkeletonError(
                f"{self.name}: one joint and base for each of {TARGETS}"
            )
        if self.effectors[-1] != 0:
            raise SkeletonError(f"{self.name}: the target Hips must lead the root")
        for target, joint, base in zip(
            TARGETS, self.effectors, self.bases, strict=True
        ):
            if base not in self.chain(joint):
                raise SkeletonError(
                    f"{self.name}: {target}: {self.skeleton.joints[joint]!r} does not hang "
                    f"on its base {self.skeleton.joints[base]!r}"
                )
        free = np.isinf(self.swing[0]).all() and np.isinf(self.twist[0]).all()
        if not free:
            raise SkeletonError(
                f"{self.name}: the root has no limits, it turns in the world"
            )

    def __len__(self) -> int:
        """The number of joints."""
        return len(self.skeleton)

    def chain(self, joint: int) -> tuple[int, ...]:
        """Return `joint` and all its ancestors up to the root."""
        chain = [joint]
        while (parent := self.skeleton.parents[chain[-1]]) >= 0:
            chain.append(parent)
        return tuple(chain)

    @cached_property
    def reaches(self) -> Floats:
        """Length of each stretched limb from base to target, [m]. Shape (6,)."""
        lengths = np.linalg.norm(self.skeleton.offsets, axis=1)
        result = []
        for joint, base in zip(self.effectors, self.bases, strict=True):
            chain = self.chain(joint)
            result.append(float(lengths[list(chain[: chain.index(base)])].sum()))
        reaches = np.array(result)
        reaches.setflags(write=False)
        return reaches

    @cached_property
    def target_rest(self) -> Floats:
        """World orientation of each target's joint at rest. Shape (6, 4)."""
        turns = rest_kinematics(self.skeleton)[1]
        rest: Floats = np.ascontiguousarray(turns[list(self.effectors)])
        rest.setflags(write=False)
        return rest


def load_rig(name_or_path: str = "ik23") -> Rig:
    """Return the shipped rig of that name, or the one in a file that ends in .json.

    Raises:
        SkeletonError: The rig is missing, or breaks a rule.
        ConfigError: A file cannot be read or has wrong keys.
    """
    if name_or_path.endswith(".json"):
        data = load_json(RigFile, name_or_path)
        if data.skeleton.endswith(".json"):
            beside = Path(name_or_path).parent / data.skeleton
            data = data.replace(skeleton=str(beside))
        return _built(data)
    return _kept(name_or_path)


@cache
def _kept(name: str) -> Rig:
    if name not in RIGS:
        raise SkeletonError(
            f"unknown rig {name!r}{nearest(name, RIGS)}; a rig of your own is FILE.json"
        )
    text = files("ambulo.configs.rigs").joinpath(f"{name}.json").read_text("utf-8")
    return _built(parse(RigFile, json.loads(text), f"rig {name}"))


def _built(data: RigFile) -> Rig:
    """Return the rig of `data`; `SkeletonError` names the rule that is broken."""
    skeleton = load_skeleton(data.skeleton)
    count = len(skeleton)
    swing = np.full((count, 4), np.inf)
    twist = np.tile([-np.inf, np.inf], (count, 1))
    stiffness, start = np.ones(count), np.zeros((count, 3))
    for name, limit in data.limits.items():
        joint = skeleton.index(name)
        stiffness[joint] = limit.stiffness
        if limit.swing is not None:
            swing[joint] = np.deg2rad([*limit.swing.x, *limit.swing.z])
        if limit.twist is not None:
            twist[joint] = np.deg2rad(limit.twist)
    for name, angles in data.start.items():
        start[skeleton.index(name)] = np.deg2rad(angles)
    return Rig(
        name=data.name,
        skeleton=skeleton,
        effectors=tuple(skeleton.index(data.targets[name].joint) for name in TARGETS),
        bases=tuple(skeleton.index(data.targets[name].base) for name in TARGETS),
        swing=swing,
        twist=twist,
        stiffness=stiffness,
        root_stiffness=data.root_stiffness,
        start=from_swing_twist(SwingTwist(*start.T)),
        start_height=data.start_height,
    )
