"""Left and right changed in observations and actions of a symmetric body.

The mirror is the plane y = 0. A place or velocity (x, y, z) becomes (x, -y, z); a rotation
vector or angular velocity (x, y, z) becomes (-x, y, -z); joints change sides.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.character import Character
from ambulo.envs.layout import ObservationLayout

POLAR, AXIAL = (1.0, -1.0, 1.0), (-1.0, 1.0, -1.0)
"""Signs of places and velocities, and of rotations."""
ALIKE = 0.1
"""Largest distance of a joint from its twin's mirror image, over the body's size, together
with one less the cosine between their axes."""
_VECTORS = {
    "up": POLAR,
    "velocity": POLAR,
    "place": POLAR,
    "angular_velocity": AXIAL,
    "turn": AXIAL,
    "velocity_deviation": (*POLAR, *AXIAL),
}
"""Signs of parts by name; `place_5` is a part of the kind `place`."""
_JOINTS = ("joint", "joints", "rate")
_TRACKERS = {"tracked": (1.0,), "trackers": POLAR, "tracker": (*POLAR, *AXIAL)}
"""Signs of what is shown of each of `ambulo.ik.rig.TARGETS`: the first axis of a
rotation is mirrored as a place is, the second with the other sign."""
_OTHER_SIDE = (1, 0, 3, 2, 4, 5)
"""The row of each on the other side."""
_HALVES = ("soles", "contacts")
"""Parts whose first half belongs to the left side."""


@dataclass(frozen=True, eq=False)
class Mirror:
    """Where each number of a mirrored vector comes from, and its sign."""

    source: Ints
    """Shape (n,)."""
    sign: NDArray[np.float32]
    """Shape (n,)."""

    def __call__(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return mirrored `values` (..., n)."""
        return np.asarray(values[..., self.source] * self.sign)


def mirror_of_dofs(character: Character) -> Mirror:
    """Mirror of the velocities of a body that is symmetric at rest, (nv,).

    Each joint's twin is the one at its mirror image that turns about the mirrored axis.

    Raises:
        ConfigError: A joint has no twin.
    """
    model = character.model
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    joints = range(1, model.njnt)
    axes = [_axes(model, data, joint) for joint in joints]
    places = data.xanchor[1:]
    apart = np.linalg.norm((places * POLAR)[:, None] - places, axis=-1)
    cost = apart / max(float(np.ptp(places, axis=0).max()), 1e-9)
    for i, own in enumerate(axes):
        for k, other in enumerate(axes):
            fits = len(own) == len(other)
            cost[i, k] += _misfit(own, other) if fits else 2.0 * len(axes)
    twins = linear_sum_assignment(cost)[1]
    source, sign = np.arange(model.nv), np.ones(model.nv, np.float32)
    sign[:6] = (*POLAR, *AXIAL)
    for i, k in enumerate(twins):
        if cost[i, k] > ALIKE:
            name = model.joint(i + 1).name
            raise ConfigError(f"{character.name}: {name} has no twin on the other side")
        turn = (axes[k] * AXIAL) @ axes[i].T
        rows = np.abs(turn).argmax(axis=0)
        here, there = (int(model.jnt_dofadr[joint + 1]) for joint in (i, k))
        for n, row in enumerate(rows):
            source[here + n] = there + row
            sign[here + n] = np.sign(turn[row, n])
    return Mirror(source, sign)


def _axes(model: mujoco.MjModel, data: mujoco.MjData, joint: int) -> Floats:
    """Axes of a hinge (1, 3), or of a ball (3, 3), in the world."""
    if int(model.jnt_type[joint]) != int(mujoco.mjtJoint.mjJNT_BALL):
        return data.xaxis[joint][None].copy()
    turn: Floats = data.xmat[int(model.jnt_bodyid[joint])].reshape(3, 3).T.copy()
    return turn


def _misfit(own: Floats, other: Floats) -> float:
    """How far the mirrored axes of one joint are from those of another, 0 to 1."""
    turn = np.abs((own * AXIAL) @ other.T)
    return float(1.0 - turn.max(axis=1).min())


def mirror_of_actions(character: Character, dofs: Ints) -> Mirror:
    """Mirror of actions that move the degrees of freedom `dofs`.

    Raises:
        ConfigError: They move a joint and not its twin.
    """
    whole = mirror_of_dofs(character)
    place = {int(dof): k for k, dof in enumerate(dofs)}
    twins = whole.source[dofs]
    if any(int(twin) not in place for twin in twins):
        raise ConfigError("actions move joints of one side only: they have no mirror")
    return Mirror(np.array([place[int(twin)] for twin in twins]), whole.sign[dofs])


def mirror_of_observations(
    layout: ObservationLayout, character: Character, dofs: Ints
) -> Mirror:
    """Mirror of observations whose last action, if shown, moves `dofs`.

    Raises:
        ConfigError: A part whose mirror is not known.
    """
    joints = mirror_of_dofs(character)
    bent = Mirror(joints.source[6:] - 6, joints.sign[6:])
    sources, signs = [], []
    for name, where in layout.slices().items():
        part = _mirror_of_part(name, where.stop - where.start, bent, character, dofs)
        sources.append(where.start + part.source)
        signs.append(part.sign)
    return Mirror(np.concatenate(sources), np.concatenate(signs))


def _mirror_of_part(
    name: str, size: int, joints: Mirror, character: Character, dofs: Ints
) -> Mirror:
    kind = name if name in _VECTORS else name.split("_", maxsplit=1)[0]
    if name == "height":
        return _signs(np.ones(1))
    if kind in _VECTORS:
        return _signs(np.array(_VECTORS[kind]))
    if kind in _JOINTS:
        return joints
    if kind in _TRACKERS:
        signs = np.tile(_TRACKERS[kind], (len(_OTHER_SIDE), 1))
        numbers = np.arange(signs.size).reshape(signs.shape)
        return Mirror(
            numbers[list(_OTHER_SIDE)].ravel(), signs.ravel().astype(np.float32)
        )
    if name in _HALVES:
        return Mirror(np.roll(np.arange(size), size // 2), np.ones(size, np.float32))
    if name == "last_action":
        return mirror_of_actions(character, dofs)
    raise ConfigError(f"observation part {name}: has no mirror")


def _signs(values: Floats) -> Mirror:
    return Mirror(np.arange(len(values)), values.astype(np.float32))
