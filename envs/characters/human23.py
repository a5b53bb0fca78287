"""The body human23 in MuJoCo: 23 bodies, 56 degrees of freedom, torque motors."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco

from ambulo.envs.characters.capsules import capsule_spec
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton


def human23_spec(
    skeleton: Skeleton | None = None,
    mass: float = 75.0,
    factors: Mapping[str, float] | None = None,
) -> mujoco.MjSpec:
    """An editable model of a human23 skeleton of `mass`, [kg], times `factors` by body.

    The feet touch the ground with six balls each (two at the heel, two at the ball of
    the foot, one at each toe's end).
    """
    skeleton = load_skeleton("human23") if skeleton is None else skeleton
    return capsule_spec(skeleton, mass, factors)
