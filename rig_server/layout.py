"""The bones of a streamed rig, and the layout of their numbers in a frame.

A frame of a rig of B bones and E effectors is 7 B + 7 E float32, as the published legs
(63 = 7 * 7 + 7 * 2) have them:

| floats | what | frame |
|---|---|---|
| 3 + 4 | position and quaternion xyzw of the root bone | world |
| 7 (B - 1) | position and quaternion xyzw of each other bone | its parent's |
| 4 E | ground normal and whether the ground was hit, of each effector | the root's |
| 3 E | target of each effector | the root's |

and an answer is the 4 (B - 1) local quaternions.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import AmbuloError

MAX_BONES = 256
"""Largest number of bones, and of effectors, of a rig."""
MAX_NAME = 256
"""Largest length of a name in UTF-8, as in the published set-up, [bytes]."""


class RigError(AmbuloError):
    """A streamed rig, frame or model of a rig that breaks a rule."""


@dataclass(frozen=True)
class RigLayout:
    """Names, tree and effectors of a streamed rig; parents come before children."""

    name: str
    """Name of the anatomy, under which models are stored."""
    bones: tuple[str, ...]
    """Names of the B bones; bone 0 is the root."""
    parents: tuple[int, ...]
    """Index of each bone's parent; -1 for the root alone."""
    effectors: tuple[int, ...]
    """The E bones with targets."""
    scale: float = 0.01
    """Metres in one unit of the stream's positions; 0.01 for centimetres."""

    def __post_init__(self) -> None:
        """Check the rules; `RigError` names the one that is broken."""
        count = len(self.bones)
        if not 2 <= count <= MAX_BONES:
            raise RigError(f"a rig has 2 to {MAX_BONES} bones, got {count}")
        for name in (self.name, *self.bones):
            if not 1 <= len(name.encode(errors="replace")) <= MAX_NAME:
                raise RigError(f"a name has 1 to {MAX_NAME} bytes")
        if len(set(self.bones)) != count:
            raise RigError("two bones have the same name")
        if len(self.parents) != count or self.parents[0] != -1:
            raise RigError("one parent for each bone, and -1 for the first")
        if any(not 0 <= p < bone for bone, p in enumerate(self.parents) if bone):
            raise RigError("a parent must come before its children")
        if not 1 <= len(self.effectors) < count:
            raise RigError("a rig has at least one effector, and fewer than bones")
        if any(not 0 < e < count for e in self.effectors):
            raise RigError("an effector is a bone other than the root")
        if len(set(self.effectors)) != len(self.effectors):
            raise RigError("two effectors are the same bone")
        if not (math.isfinite(self.scale) and 1e-6 <= self.scale <= 1e3):
            raise RigError(f"metres in a unit: 1e-6 to 1e3, got {self.scale}")

    @property
    def frame_size(self) -> int:
        """Floats of a frame, 7 B + 7 E."""
        return 7 * (len(self.bones) + len(self.effectors))

    @property
    def output_size(self) -> int:
        """Floats of an answer, 4 (B - 1)."""
        return 4 * (len(self.bones) - 1)

    @property
    def fingerprint(self) -> str:
        """A hash of everything but the name: 16 hexadecimal digits."""
        whole = [self.bones, self.parents, self.effectors, self.scale]
        return hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:16]

    @cached_property
    def chains(self) -> NDArray[np.int64]:
        """Upper bone, lower bone and end of each effector's two-bone chain. (E, 3).

        A row of -1 if the effector has no two bones of its own between it and the root; such an
        effector is learned like any other bone.
        """
        rows, used = [], set[int]()
        for end in self.effectors:
            lower = self.parents[end]
            upper = self.parents[lower] if lower > 0 else -1
            free = upper > 0 and not {upper, lower, end} & used
            rows.append((upper, lower, end) if free else (-1, -1, -1))
            used |= {upper, lower, end} if free else set()
        return np.array(rows, dtype=np.int64)

    def to_json(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "bones": list(self.bones),
            "parents": list(self.parents),
            "effectors": list(self.effectors),
            "scale": self.scale,
        }

    def named(self, name: str) -> RigLayout:
        """The same rig under another name."""
        return RigLayout(name, self.bones, self.parents, self.effectors, self.scale)

    def same_rig(self, other: RigLayout) -> bool:
        """Whether everything but the name is the same."""
        return self == other.named(self.name)


def layout_from_json(values: object) -> RigLayout:
    """The inverse of `to_json`; `RigError` for other values."""
    try:
        assert isinstance(values, dict)
        return RigLayout(
            name=str(values["name"]),
            bones=tuple(str(bone) for bone in values["bones"]),
            parents=tuple(int(parent) for parent in values["parents"]),
            effectors=tuple(int(bone) for bone in values["effectors"]),
            scale=float(values["scale"]),
        )
    except (AssertionError, KeyError, TypeError, ValueError, OverflowError):
        raise RigError("not the description of a rig") from None


LEGS = RigLayout(
    name="legs",
    bones=("pelvis", "thigh_r", "calf_r", "foot_r", "thigh_l", "calf_l", "foot_l"),
    parents=(-1, 0, 1, 2, 0, 4, 5),
    effectors=(3, 6),
)
"""The published rig: 63 floats in, 24 out, centimetres, right before left."""


def legs_named(names: Sequence[str]) -> RigLayout:
    """The published legs, stored under a name made from the names of a 0x01 set-up."""
    digest = hashlib.sha256("\0".join(names).encode(errors="replace")).hexdigest()
    return LEGS.named(f"legs-{digest[:12]}")


def legs_of(offsets: Floats) -> RigLayout:
    """The published legs, stored under a name made from their skeleton.

    Args:
        offsets: Each bone from its parent, [m]; rounded to the millimetre. Shape (7, 3).
    """
    whole = np.round(1e3 * np.asarray(offsets)[1:]).astype(np.int64)
    digest = hashlib.sha256(json.dumps(whole.tolist()).encode()).hexdigest()
    return LEGS.named(f"legs-{digest[:12]}")
