"""Avatars from shipped models: the gait network becomes a table, the IK network a prior."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import ambulo.shipped
from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import ModelFileError
from ambulo.ik.avatar.layout import ANKLE, HEAD, SIDE, THIGHS, sole, stature
from ambulo.ik.avatar.pose import AvatarPose
from ambulo.ik.avatar.prior import UpperBodyPrior
from ambulo.ik.avatar.table import PHASES, SPEEDS, GaitTable
from ambulo.ik.solver.network import load_ik_network
from ambulo.motion.gaits.frames import WAY_RATE, frame_rate, orthonormal, speed_of
from ambulo.motion.gaits.shards import PER_CYCLE
from ambulo.motion.gaits.skeleton import gait_skeleton
from ambulo.motion.human23 import rotations_of_sixdof
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.rotations import quat_mean, quat_rotate
from ambulo.motion.skeleton import Skeleton
from ambulo.policies.agents.gait_network import GaitNetwork, load_gait_network

CONTACT = 0.008
"""A foot stands while heel or ball are lower than this over the ground, [m]."""
STAND_BEND = 0.012
"""The standing pose is lower than straight legs by this, [m]."""
STAND_WIDTH = 0.095
"""Distance of a standing ankle from the middle, of a stature of 1.75 m, [m]."""
STAND_BACK = 0.03
"""Distance of a standing ankle behind the hips, of a stature of 1.75 m, [m]."""
STATURE = 1.75


def load_avatar(
    gait: str = "gait_net", prior: str | None = "ik_net", *, exact_head: bool = False,
    **body: float,
) -> AvatarPose:  # fmt: skip
    """Return an avatar with the gait of a network, of the body of named parameters.

    Args:
        gait: A gait network of human23, by name or file.
        prior: A pose network, by name or folder; None: elbows point down.
        exact_head: See `AvatarPose`.
        **body: Lengths of the body, for example `**{"global": 0.9}`.

    Raises:
        ModelFileError: There is no such model, or it is damaged.
        GaitParameterError: An unknown parameter, or a value out of its range.
    """
    upper = None if prior is None else UpperBodyPrior(load_ik_network(prior))
    table = bake_gait_table(load_gait_network(_gait_file(gait)), body)
    return AvatarPose(table, upper, exact_head=exact_head)


def bake_gait_table(
    network: GaitNetwork,
    body: Mapping[str, float] | None = None,
    *,
    speeds: int = SPEEDS,
    phases: int = PHASES,
) -> GaitTable:
    """Return the gaits of `network` at its slowest to fastest speed, of one body.

    Stride and cadence grow together, from the lowest to the highest that the network has
    learnt. Numbers are rounded to float32, as the Godot add-on reads them.

    Args:
        network: A gait network of human23.
        body: Parameters of the body other than stride and cadence; healthy if left out.
        speeds: Rows of the table.
        phases: Columns of the table.

    Raises:
        ModelFileError: The network knows one speed alone.
        GaitParameterError: An unknown parameter, or a value out of its range.
    """
    for name in ("stride", "cadence"):
        if name in network.held:
            raise ModelFileError(
                f"this gait network has learnt one {name} alone: an avatar needs all speeds"
            )
    space = network.space
    low, high = space.low, space.high
    ends = [space.index(name) for name in ("stride", "cadence")]
    params = np.array([network.vector(**(body or {}))] * speeds)
    for column in ends:
        params[:, column] = np.linspace(low[column], high[column], speeds)
    phase = np.arange(phases) / phases
    frames = np.stack(
        [
            orthonormal(network(space.normalize(row), phase).astype(np.float64))
            for row in params
        ]
    )
    skeleton = gait_skeleton(space, params[0])
    rotations = np.asarray(rotations_of_sixdof(frames))
    rates = frame_rate(space, params) / PER_CYCLE
    root = np.concatenate([_sway(frames[..., 6:8], rates), frames[..., 8:9]], axis=-1)
    places, turns = forward_kinematics(skeleton, root, rotations)
    stance = np.stack([_stance(skeleton, places, turns, i) for i in (0, 1)], axis=1)
    stand, stand_root = _standing(skeleton, rotations[0], root[0])
    size = stature(skeleton) / STATURE
    homes = [(-STAND_BACK * size, side * STAND_WIDTH * size) for side in SIDE]
    stand_head = forward_kinematics(skeleton, stand_root, stand)[0][HEAD]
    aligned = np.sign(np.sum(rotations * stand, axis=-1, keepdims=True))
    return GaitTable(
        skeleton=skeleton,
        speeds=_single(speed_of(frames)),
        rates=_single(rates),
        rotations=_single(rotations * aligned),
        root=_single(root),
        stance=_single(stance),
        homes=_single(_homes(places, stance)),
        heads=_single(places[:, :, HEAD].mean(axis=1)),
        stand=_single(stand),
        stand_root=_single(stand_root),
        stand_homes=_single(np.array(homes)),
        stand_head=_single(stand_head),
    )


def _gait_file(name: str) -> str:
    """Return the file of a gait network that is a file already, or shipped."""
    file = ambulo.shipped.locate(name)
    if file is not None:
        return str(file)
    if not name.endswith(".zip"):
        raise ModelFileError(f"{name}: no such gait network; gait_net is one")
    return name


def _single(values: Floats) -> Floats:
    """Round to float32."""
    return np.asarray(values, np.float32).astype(np.float64)


def _sway(way: Floats, rates: Floats) -> Floats:
    """Displacement (K, P, 2), [m], of the root against the mean of its way (K, P, 2)."""
    velocity = (way - way.mean(axis=1, keepdims=True)) * WAY_RATE
    step = 0.5 * (velocity + np.roll(velocity, 1, axis=1))
    step[:, 0] = 0.0
    path = np.cumsum(step, axis=1) / (rates[:, None, None] * way.shape[1])
    moved: Floats = path - path.mean(axis=1, keepdims=True)
    return moved


def _stance(skeleton: Skeleton, places: Floats, turns: Floats, side: int) -> Floats:
    """Phases (K, 2) at which a foot comes down and leaves; down is below up."""
    ankle = THIGHS[side] + ANKLE
    points = places[:, :, ankle, None] + quat_rotate(
        turns[:, :, ankle, None], sole(skeleton)
    )
    heights = points[..., 2].min(axis=2)
    return np.array([_window(row) for row in heights < CONTACT])


def _window(low: Bools) -> tuple[float, float]:
    """Beginning and end of the longest run of `low` (P,) around the cycle, [cycles]."""
    count = len(low)
    best, start = 0, 0
    for first in range(count):
        run = 0
        while run < count and low[(first + run) % count]:
            run += 1
        if run > best:
            best, start = run, first
    down = start / count
    # Windows of all speeds begin within half a cycle of each other: of the left foot below 0.
    return (down - 1.0 if down > 0.5 else down), down + (best - 1) / count - (
        down > 0.5
    )


def _homes(places: Floats, stance: Floats) -> Floats:
    """Mean place (K, 2, 2) of both ankles while they stand, (x, y), [m]."""
    phase = np.arange(places.shape[1]) / places.shape[1]
    homes = np.empty((len(places), 2, 2))
    for k, i in np.ndindex(len(places), 2):
        down, up = stance[k, i]
        stands = np.mod(phase - down, 1.0) < up - down
        homes[k, i] = places[k, stands, THIGHS[i] + ANKLE, :2].mean(axis=0)
    return homes


def _standing(
    skeleton: Skeleton, rotations: Floats, root: Floats
) -> tuple[Floats, Floats]:
    """Local rotations (J, 4) and root (3,) of standing, from the slowest gait (P, J, 4).

    The mean pose, with arms nearer to the sides.
    """
    mean = np.asarray(quat_mean(rotations))
    legs = skeleton.offsets[[THIGHS[0] + 1, THIGHS[0] + ANKLE], 2].sum()
    height = sole(skeleton)[0, 2] + legs + skeleton.offsets[THIGHS[0], 2]
    return mean, np.array([root[:, 0].mean(), 0.0, -height - STAND_BEND])
