"""States of the human23 body for motion networks: differences, steps and features.

A state is 112 numbers: 56 positions (see `ambulo.motion.human23`), then 56 velocities, the
change since the frame before over the time between. A displacement is 56 numbers in the
same order that lead from one pose to another: rotation vectors in each joint's own frame,
[rad], angles of hinges, [rad], and the way of the root, [m].
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor

from ambulo.motion.human23 import (
    N_POSITIONS,
    integrate,
    local_rotations,
    position_slices,
    velocities,
)
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.rotations import (
    matrix_to_sixd,
    quat_conjugate,
    quat_from_rotvec,
    quat_from_yaw,
    quat_multiply,
    quat_rotate,
    quat_to_matrix,
    quat_to_rotvec,
    yaw_of,
)
from ambulo.motion.skeletons import load_skeleton

STATE_SIZE = 2 * N_POSITIONS
"""Numbers of a state."""
WAY = slice(3, 6)
"""Columns of the root's position."""
Features = Literal["points", "sixd", "rotvec"]


@lru_cache(maxsize=1)
def columns() -> tuple[Tensor, Tensor]:
    """Columns of the rotation vectors of root and balls (15, 3), and of hinges (8,)."""
    places = [list(range(p.start, p.stop)) for p in position_slices().values()]
    balls = [place for place in places if len(place) == 3]
    hinges = [place[0] for place in places if len(place) == 1]
    # On the CPU whatever the default device is: they stay for the life of the process.
    return torch.tensor(balls, device="cpu"), torch.tensor(hinges, device="cpu")


def balls_of(positions: Tensor) -> Tensor:
    """Orientations of root and ball joints (..., 15, 4) of `positions` (..., 56)."""
    return quat_from_rotvec(positions[..., columns()[0]])


def displaced(positions: Tensor, displacements: Tensor) -> Tensor:
    """Poses (..., 56) that `displacements` lead to; the root's way is in the world frame."""
    moved: Tensor = integrate(positions, displacements, 1.0)
    return moved


def displacement(before: Tensor, after: Tensor) -> Tensor:
    """Difference from `before` to `after`, (..., 56); the displacement in the world frame.

    `before` broadcasts to the shape of `after`.
    """
    both = torch.stack([before.expand_as(after), after], dim=-2)
    ways: Tensor = velocities(both, 1.0)[..., 0, :]
    return ways


def heading_of(positions: Tensor) -> Tensor:
    """The rotation about Z (..., 4) that the root has turned."""
    return quat_from_yaw(yaw_of(quat_from_rotvec(positions[..., 0:3])))


def to_world(displacements: Tensor, heading: Tensor) -> Tensor:
    """`displacements` (..., 56) with the root's way turned out of the frame `heading`."""
    way = quat_rotate(heading, displacements[..., WAY])
    return torch.cat([displacements[..., :3], way, displacements[..., 6:]], dim=-1)


def states_after(state: Tensor, positions: Tensor, fps: float) -> Tensor:
    """States (B, K, 112) of the poses (B, K, 56) that follow `state` (B, 112)."""
    before = torch.cat([state[:, None, :N_POSITIONS], positions[:, :-1]], dim=1)
    return torch.cat([positions, displacement(before, positions) * fps], dim=-1)


def features_of(states: Tensor, kind: Features) -> Tensor:
    """Input of a network for each state (..., 112), without position and heading in the world.

    With `points` the places of all joints about the root; height of the root, its tilt
    and all ball joints as two rows or rotation vectors, hinge angles; then the root's
    angular velocity in its own frame, its velocity in its heading's frame, and the
    velocities of all joints. Shape (..., F).
    """
    _, hinges = columns()
    positions, rates = states[..., :N_POSITIONS], states[..., N_POSITIONS:]
    heading = quat_conjugate(heading_of(positions))
    balls = balls_of(positions)
    tilt = quat_multiply(heading[..., None, :], balls[..., :1, :])
    balls = torch.cat([tilt, balls[..., 1:, :]], dim=-2)
    if kind == "rotvec":
        turned = quat_to_rotvec(balls)
    else:
        turned = matrix_to_sixd(quat_to_matrix(balls))
    points = []
    if kind == "points":
        points.append(joints_about_root(positions)[..., 1:, :].flatten(-2))
    return torch.cat(
        [
            *points,
            positions[..., 5:6],
            turned.flatten(-2),
            positions[..., hinges],
            rates[..., :3],
            quat_rotate(heading, rates[..., WAY]),
            rates[..., 6:],
        ],
        dim=-1,
    )


def feature_size(kind: Features) -> int:
    """Numbers that `features_of` gives for each state."""
    balls, hinges = columns()
    points = 3 * (len(load_skeleton("human23")) - 1) if kind == "points" else 0
    angles = len(balls) * (3 if kind == "rotvec" else 6) + len(hinges)
    return points + 1 + angles + N_POSITIONS


def joints_about_root(positions: Tensor) -> Tensor:
    """Joint positions (..., 23, 3), [m], with root position and rotation removed."""
    return _joints(local_rotations(positions))


def joints_after(positions: Tensor, displacements: Tensor) -> Tensor:
    """`joints_about_root` of the poses that `displacements` (..., 56) lead to."""
    turn = local_rotations(displacements)
    return _joints(quat_multiply(local_rotations(positions), turn))


def _joints(rotations: Tensor) -> Tensor:
    """Joint positions of local rotations (..., 23, 4) about a root that stands still."""
    still = torch.zeros_like(rotations[..., :1, :])
    still[..., 0] = 1.0
    local = torch.cat([still, rotations[..., 1:, :]], dim=-2)
    origin = torch.zeros_like(local[..., 0, :3])
    joints: Tensor = forward_kinematics(load_skeleton("human23"), origin, local)[0]
    return joints
