"""Left and right changed in observations and actions of a symmetric body.

The mirror is the plane y = 0. A place or velocity (x, y, z) becomes (x, -y, z); a rotation
vector or angular velocity (x, y, z) becomes (-x, y, -z); joints change sides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.character import Character
from ambulo.envs.layout import ObservationLayout
from ambulo.motion.datasets.states import N_STATE, mirror_states

POLAR, AXIAL = (1.0, -1.0, 1.0), (-1.0, 1.0, -1.0)
"""Signs of places and velocities, and of rotations."""
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
    """Mirror of the velocities of a body with the skeleton human23, (nv,)."""
    rates = character.position_columns.rates
    size = N_STATE // 2
    marked = np.zeros((1, N_STATE), np.float32)
    marked[0, :size] = np.arange(1, size + 1)
    mirrored = mirror_states(marked)[0, :size]
    column = np.empty(size, np.int64)
    column[rates] = np.arange(len(rates))
    source = column[np.abs(mirrored).astype(np.int64) - 1][rates]
    return Mirror(source, np.sign(mirrored)[rates])


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
