"""The gait table: rules, rows and blends."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ambulo.configs.errors import IKError
from ambulo.ik.avatar.sampling import bracket, pose_at, root_at
from ambulo.ik.avatar.table import GaitTable
from ambulo.motion.rotations import quat_from_rotvec
from ambulo.motion.skeletons import load_skeleton


def table() -> GaitTable:
    """Two speeds and four phases; the left thigh swings, twice as far at the second speed."""
    rotations = np.zeros((2, 4, 23, 4))
    rotations[..., 0] = 1.0
    for k in range(2):
        for p, angle in enumerate((0.0, 0.1, 0.0, -0.1)):
            swing = np.array([0.0, (k + 1) * angle, 0.0])
            rotations[k, p, 6] = quat_from_rotvec(swing)
    root = np.zeros((2, 4, 3))
    root[..., 2] = [[0.9, 0.92, 0.9, 0.92], [0.8, 0.84, 0.8, 0.84]]
    return GaitTable(
        skeleton=load_skeleton("human23"),
        speeds=np.array([0.5, 1.5]),
        rates=np.array([0.7, 1.1]),
        rotations=rotations,
        root=root,
        stance=np.tile([[-0.3, 0.3], [0.2, 0.8]], (2, 1, 1)),
        homes=np.tile([[0.0, 0.09], [0.0, -0.09]], (2, 1, 1)),
        heads=np.tile([0.0, 0.0, 1.5], (2, 1)),
        stand=rotations[0, 0],
        stand_root=np.array([0.0, 0.0, 0.95]),
        stand_homes=np.array([[0.0, 0.09], [0.0, -0.09]]),
        stand_head=np.array([0.0, 0.0, 1.51]),
    )


def test_bracket_clamps() -> None:
    speeds = np.array([0.5, 1.0, 2.0])
    assert bracket(speeds, 0.1) == (0, 0.0)
    assert bracket(speeds, 0.75) == (0, 0.5)
    assert bracket(speeds, 1.0) == (1, 0.0)
    assert bracket(speeds, 1.25) == (1, 0.25)
    assert bracket(speeds, 9.0) == (1, 1.0)


def test_rows_and_columns_are_met_and_mixed() -> None:
    made = table()
    out, pose = np.empty(3), np.empty((23, 4))
    root_at(made.root, 0, 0.0, 0.25, out)
    assert out[2] == pytest.approx(0.92)
    root_at(made.root, 0, 0.5, 3.875, out)  # half-way from the last column to the first
    assert out[2] == pytest.approx(0.5 * (0.91 + 0.82))
    pose_at(made.rotations, made.stand, 0, 1.0, 0.25, 1.0, pose)
    np.testing.assert_allclose(pose[6], quat_from_rotvec(np.array([0.0, 0.2, 0.0])))
    pose_at(made.rotations, made.stand, 0, 1.0, 0.25, 0.5, pose)
    half = quat_from_rotvec(np.array([0.0, 0.1, 0.0]))
    np.testing.assert_allclose(pose[6], half, atol=1e-12)
    assert np.linalg.norm(pose, axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (
            "speeds",
            np.array([1.0, 0.5]),
            "speeds must be two or more, above 0 and ascend",
        ),
        (
            "speeds",
            np.array([0.0, 0.5]),
            "speeds must be two or more, above 0 and ascend",
        ),
        ("rates", np.array([0.7, 0.0]), "rates must be above 0"),
        ("rates", np.array([0.7]), r"rates: expected finite numbers of shape \(2,\)"),
        ("root", np.full((2, 4, 3), np.nan), "root: expected finite numbers"),
        ("skeleton", load_skeleton("ik23"), "expected human23, got ik23"),
    ],
)
def test_broken_tables_are_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(IKError, match=message):
        dataclasses.replace(table(), **{field: value})


def test_torsions_are_refused() -> None:
    rest = load_skeleton("human23").rest.copy()
    rest[2] = quat_from_rotvec(np.array([0.0, 0.0, 0.2]))
    twisted = load_skeleton("human23").replace(rest=rest)
    with pytest.raises(IKError, match="torsions"):
        dataclasses.replace(table(), skeleton=twisted)


def test_arrays_are_frozen() -> None:
    with pytest.raises(ValueError, match="read-only"):
        table().speeds[0] = 2.0
