"""The body's shape: round cones along the bones, blended into one another.

Radii are those of an average adult of 1.75 m (girths of Gordon et al., 1988 Anthropometric
Survey of U.S. Army Personnel, over 2 pi, rounded; hands, feet and face are our choice) and
scale with the stature; lengths are the skeleton's own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.motion.kinematics import rest_positions
from ambulo.motion.landmarks import rest_points
from ambulo.motion.skeleton import Skeleton

STATURE = 1.75
"""Stature of the radii, [m]."""
MELT = 0.035
"""Width over which neighbouring cones blend, [m]."""
SKIN, SHIRT, TROUSERS, SHOES, HAIR = range(5)
"""Indices of the surface's colours."""
COLOURS = (
    (0.87, 0.68, 0.55), (0.16, 0.42, 0.62), (0.20, 0.22, 0.28), (0.12, 0.12, 0.13),
    (0.25, 0.17, 0.12),
)  # fmt: skip
"""Red, green and blue of each colour, 0 to 1."""

Point = tuple[float, float, float]


@dataclass(frozen=True)
class _Cone:
    """A round cone in a joint's frame, for a stature of 1.75 m."""

    joint: str
    start: Point
    end: Point | str
    """End point in the same frame, or the joint at its end."""
    radii: tuple[float, float]
    colour: int


def _pair(*cones: _Cone) -> list[_Cone]:
    """Return the cones of the left side, and mirrored ones of the right."""
    both = list(cones)
    for cone in cones:
        x, y, z = cone.start
        end: Point | str
        if isinstance(cone.end, str):
            end = cone.end[:-1] + "R"
        else:
            end = (cone.end[0], -cone.end[1], cone.end[2])
        joint = cone.joint[:-1] + "R" if cone.joint.endswith("L") else cone.joint
        both.append(_Cone(joint, (x, -y, z), end, cone.radii, cone.colour))
    return both


_CONES = (
    _Cone("Torso", (-0.006, 0.0, 0.05), (-0.012, 0.0, 0.15), (0.09, 0.066), SHIRT),
    _Cone("Neck", (-0.006, 0.0, 0.0), (0.0, 0.0, 0.08), (0.055, 0.052), SKIN),
    _Cone("Head", (0.02, 0.0, 0.035), (0.012, 0.0, 0.085), (0.062, 0.08), SKIN),
    _Cone("Head", (-0.008, 0.0, 0.1), (0.0, 0.0, 0.118), (0.088, 0.087), HAIR),
    _Cone("Head", (0.098, 0.0, 0.06), (0.09, 0.0, 0.088), (0.013, 0.008), SKIN),
    *_pair(
        _Cone("Pelvis", (-0.012, 0.058, -0.035), (0.0, 0.05, 0.09), (0.099, 0.088), TROUSERS),
        _Cone("Spine", (-0.004, 0.05, 0.0), (0.004, 0.054, 0.2166), (0.088, 0.094), SHIRT),
        _Cone("Torso", (0.004, 0.054, 0.0), (-0.002, 0.088, 0.1), (0.094, 0.078), SHIRT),
        _Cone("ShoulderL", (0.0, 0.05, -0.005), (0.0, 0.16, -0.01), (0.062, 0.056), SHIRT),
        _Cone("ArmL", (0.0, 0.0, -0.008), (0.0, 0.13, 0.0), (0.058, 0.05), SHIRT),
        _Cone("ArmL", (0.0, 0.11, 0.0), "ForeArmL", (0.046, 0.04), SKIN),
        _Cone("ForeArmL", (0.0, 0.0, 0.0), (0.0, 0.09, 0.0), (0.041, 0.042), SKIN),
        _Cone("ForeArmL", (0.0, 0.09, 0.0), "HandL", (0.041, 0.027), SKIN),
        _Cone("HandL", (-0.012, 0.02, 0.0), (-0.022, 0.085, 0.0), (0.024, 0.019), SKIN),
        _Cone("HandL", (0.012, 0.02, 0.0), (0.024, 0.085, 0.0), (0.024, 0.019), SKIN),
        _Cone("HandL", (-0.02, 0.09, 0.0), (-0.018, 0.16, -0.01), (0.015, 0.011), SKIN),
        _Cone("HandL", (0.0, 0.09, 0.0), (0.0, 0.178, -0.01), (0.016, 0.011), SKIN),
        _Cone("HandL", (0.022, 0.09, 0.0), (0.02, 0.168, -0.01), (0.016, 0.011), SKIN),
        _Cone("HandL", (0.03, 0.03, 0.0), (0.062, 0.085, -0.012), (0.018, 0.012), SKIN),
        _Cone("FemurL", (0.0, 0.012, -0.02), (0.0, 0.0, -0.2), (0.092, 0.076), TROUSERS),
        _Cone("FemurL", (0.0, 0.0, -0.2), "TibiaL", (0.076, 0.058), TROUSERS),
        _Cone("TibiaL", (0.0, 0.0, 0.0), (-0.012, 0.0, -0.13), (0.056, 0.057), TROUSERS),
        _Cone("TibiaL", (-0.012, 0.0, -0.13), "TalusL", (0.057, 0.042), TROUSERS),
        _Cone("TalusL", (-0.025, 0.0, -0.025), (0.075, 0.0, -0.03), (0.043, 0.038), SHOES),
        _Cone("FootThumbL", (-0.01, 0.0, 0.006), (0.045, 0.0, 0.0), (0.026, 0.019), SHOES),
        _Cone("FootPinkyL", (-0.01, 0.0, 0.006), (0.032, 0.0, 0.0), (0.025, 0.018), SHOES),
        _Cone("FootThumbL", (-0.01, 0.025, 0.006), (0.045, 0.022, 0.0), (0.026, 0.019), SHOES),
    ),
)  # fmt: skip
_TORSO_SIDES = ("Shoulder", "Arm", "ForeArm", "Hand")
_LEGS = ("Femur", "Tibia", "Talus", "FootThumb", "FootPinky")


@dataclass(frozen=True, eq=False)
class BodyShape:
    """C round cones in the world at rest, feet on the ground."""

    joints: Ints
    """Joint of each cone. Shape (C,)."""
    starts: Floats
    """Start point, [m]. Shape (C, 3)."""
    ends: Floats
    """End point, [m]. Shape (C, 3)."""
    radii: Floats
    """Radius at both ends, [m]. Shape (C, 2)."""
    colours: Ints
    """Index of each cone's colour. Shape (C,)."""
    groups: Ints
    """Blending group of each cone: 0 trunk and arms, 1 left leg, 2 right leg. (C,)."""
    floor: float
    """Lower bound of the surface's height, [m]."""
    melt: float
    """Width over which cones of a group blend, [m]."""


def body_shape(skeleton: Skeleton) -> BodyShape:
    """Return the shape of a human23."""
    rest = rest_positions(skeleton)
    heights = rest_points(skeleton)[:, 2]
    size = float(heights.max() - heights.min()) / STATURE
    index = {name: j for j, name in enumerate(skeleton.joints)}
    starts, ends = [], []
    for cone in _CONES:
        at = rest[index[cone.joint]]
        starts.append(at + size * np.array(cone.start))
        if isinstance(cone.end, str):
            ends.append(rest[index[cone.end]])
        else:
            ends.append(at + size * np.array(cone.end))
    groups = [
        0 if not cone.joint.startswith(_LEGS) else 1 + cone.joint.endswith("R")
        for cone in _CONES
    ]
    return BodyShape(
        joints=np.array([index[cone.joint] for cone in _CONES]),
        starts=np.array(starts),
        ends=np.array(ends),
        radii=size * np.array([cone.radii for cone in _CONES]),
        colours=np.array([cone.colour for cone in _CONES]),
        groups=np.array(groups),
        floor=float(heights.min()),
        melt=size * MELT,
    )


def cone_distances(shape: BodyShape, points: Floats) -> Floats:
    """Signed distance of points (N, 3) from each cone, below 0 inside, [m]. Shape (N, C).

    The radius is linear along the axis: exact for capsules, for cones within a few percent.
    """
    found = np.empty((len(points), len(shape.joints)))
    for c, (start, end, radii) in enumerate(
        zip(shape.starts, shape.ends, shape.radii, strict=True)
    ):
        axis = end - start
        away = points - start
        along = np.clip(away @ axis / max(float(axis @ axis), 1e-12), 0.0, 1.0)
        near = np.linalg.norm(away - along[:, None] * axis, axis=1)
        found[:, c] = near - (radii[0] + along * (radii[1] - radii[0]))
    return found


def surface_distance(shape: BodyShape, points: Floats) -> Floats:
    """Distance of points (N, 3) from the blended surface, negative inside, [m]. Shape (N,).

    Cones of a group blend by the logarithm of the sum of exponentials; both legs blend with the
    trunk, but not with each other.
    """
    apart = cone_distances(shape, points)
    rate = 4.0 / shape.melt
    scaled = np.exp(-rate * np.clip(apart, -0.5, 1.0))
    parts = [
        -np.log(scaled[:, np.isin(shape.groups, (0, leg))].sum(axis=1)) / rate
        for leg in (1, 2)
    ]
    melted = np.minimum(*parts)
    return np.maximum(melted, shape.floor - points[:, 2])
