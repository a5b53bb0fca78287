"""Targets: requested positions and rotations of effectors; any may be absent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.configs.arrays import Floats, short_repr
from ambulo.configs.errors import IKError, nearest
from ambulo.ik.kernels.targets import OK, REASONS, check_targets
from ambulo.ik.pose import Pose, fk
from ambulo.ik.rig import TARGETS, Rig

ROWS = len(TARGETS)


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets of B characters; rows as in `ambulo.ik.rig.TARGETS`.

    Values of weight 0 are ignored (they may be NaN) and become 0 or identity. Rotations are
    normalised.
    """

    __repr__ = short_repr

    positions: Floats
    """World positions, [m]. Shape (B, 6, 3)."""
    rotations: Floats
    """World orientations of the joints, wxyz. Shape (B, 6, 4)."""
    position_weights: Floats
    """0 is absent, 1 counts fully. Shape (B, 6)."""
    rotation_weights: Floats
    """0 is absent, 1 counts fully. Shape (B, 6)."""

    def __post_init__(self) -> None:
        """Copy and check; `IKError` names the row and the rule."""
        positions = np.array(self.positions, dtype=np.float64, order="C")
        rotations = np.array(self.rotations, dtype=np.float64, order="C")
        moved = np.array(self.position_weights, dtype=np.float64, order="C")
        turned = np.array(self.rotation_weights, dtype=np.float64, order="C")
        if positions.ndim != 3 or positions.shape[1:] != (ROWS, 3):
            raise IKError(
                f"targets: positions: expected shape (B, {ROWS}, 3), got {positions.shape}"
            )
        lead = positions.shape[:2]
        for name, array, shape in (
            ("rotations", rotations, (*lead, 4)),
            ("position_weights", moved, lead),
            ("rotation_weights", turned, lead),
        ):
            if array.shape != shape:
                raise IKError(
                    f"targets: {name}: expected shape {shape}, got {array.shape}"
                )
        row, problem = check_targets(positions, rotations, moved, turned)
        if problem != OK:
            raise IKError(
                f"targets: character {row // ROWS}, {TARGETS[row % ROWS]}: "
                f"{REASONS[problem]}"
            )
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "rotations", rotations)
        object.__setattr__(self, "position_weights", moved)
        object.__setattr__(self, "rotation_weights", turned)

    @classmethod
    def of_checked(
        cls,
        positions: Floats,
        rotations: Floats,
        position_weights: Floats,
        rotation_weights: Floats,
    ) -> Targets:
        """Targets from arrays of other `Targets`, without copies and checks.

        Shapes as of the fields.
        """
        targets = object.__new__(cls)
        object.__setattr__(targets, "positions", positions)
        object.__setattr__(targets, "rotations", rotations)
        object.__setattr__(targets, "position_weights", position_weights)
        object.__setattr__(targets, "rotation_weights", rotation_weights)
        return targets

    def __len__(self) -> int:
        """The number of characters."""
        return len(self.positions)

    def __getitem__(self, rows: slice | NDArray[np.integer | np.bool_]) -> Targets:
        """The targets of some characters."""
        return Targets(
            self.positions[rows],
            self.rotations[rows],
            self.position_weights[rows],
            self.rotation_weights[rows],
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Targets]) -> Targets:
        """The targets of all characters of `parts`, in order."""
        return cls(
            np.concatenate([part.positions for part in parts]),
            np.concatenate([part.rotations for part in parts]),
            np.concatenate([part.position_weights for part in parts]),
            np.concatenate([part.rotation_weights for part in parts]),
        )

    @classmethod
    def of_pose(cls, rig: Rig, pose: Pose) -> Targets:
        """Targets that `pose` meets: all six, position and rotation, of weight 1."""
        positions, orientations = fk(rig, pose)
        joints = list(rig.effectors)
        ones = np.ones((len(pose), ROWS))
        return cls(positions[:, joints], orientations[:, joints], ones, ones)

    @classmethod
    def of(
        cls,
        positions: Mapping[str, ArrayLike] | None = None,
        rotations: Mapping[str, ArrayLike] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> Targets:
        """Targets of one character, by name; the others are absent.

        Args:
            positions: World positions (3,), [m].
            rotations: World orientations (4,), wxyz.
            weights: Weight of a target's position and rotation; 1 if left out.

        Raises:
            IKError: A name is unknown, or a value has the wrong length.
        """
        moved, turned = np.zeros((1, ROWS)), np.zeros((1, ROWS))
        where, how = np.zeros((1, ROWS, 3)), np.zeros((1, ROWS, 4))
        for name, place in (positions or {}).items():
            row = row_of(name)
            where[0, row] = numbers(name, "position", place, 3)
            moved[0, row] = 1.0
        for name, turn in (rotations or {}).items():
            row = row_of(name)
            how[0, row] = numbers(name, "rotation", turn, 4)
            turned[0, row] = 1.0
        for name, weight in (weights or {}).items():
            row, factor = row_of(name), numbers(name, "weight", weight)
            moved[0, row] *= factor
            turned[0, row] *= factor
        return cls(where, how, moved, turned)

    def only(self, *names: str) -> Targets:
        """Return only these targets, the others absent."""
        return self._kept({row_of(name) for name in names})

    def without(self, *names: str) -> Targets:
        """All but these targets."""
        return self._kept(set(range(ROWS)) - {row_of(name) for name in names})

    def _kept(self, rows: set[int]) -> Targets:
        mask = np.array([float(row in rows) for row in range(ROWS)])
        return Targets(
            self.positions,
            self.rotations,
            self.position_weights * mask,
            self.rotation_weights * mask,
        )


def row_of(name: str) -> int:
    """The row of the target `name`; `IKError` lists the valid names."""
    try:
        return TARGETS.index(name)
    except ValueError:
        raise IKError(f"no target is called {name!r}{nearest(name, TARGETS)}") from None


def numbers(name: str, what: str, given: ArrayLike, *shape: int) -> Floats:
    """`given` as an array of `shape`; `IKError` names the target if that is impossible."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        values = None
    if values is None or values.shape != shape:
        target = f"{shape[0]} numbers" if shape else "a number"
        raise IKError(f"targets: {name}: the {what} must be {target}, got {given!r}")
    return values
