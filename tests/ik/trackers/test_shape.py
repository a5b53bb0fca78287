"""Proportions of bodies."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import IKError
from ambulo.ik.trackers.shape import BodyShape, shape_of, sized_offsets, sized_skeleton
from ambulo.motion.kinematics import rest_positions
from ambulo.motion.landmarks import rest_points
from ambulo.motion.skeletons import load_skeleton

SHAPES = [BodyShape(), BodyShape(1.1, 0.9, 0.95), BodyShape(0.7, 0.72, 0.68)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_sized_skeleton_has_its_lengths_and_stands_on_the_ground(
    shape: BodyShape,
) -> None:
    human, sized = load_skeleton("human23"), sized_skeleton(shape)
    index = {name: i for i, name in enumerate(human.joints)}
    for joint, ratio in (
        ("TibiaL", shape.leg), ("HandR", shape.arm), ("Torso", shape.trunk),
        ("ArmL", shape.trunk), ("FootThumbR", shape.leg),
    ):  # fmt: skip
        lengths = [np.linalg.norm(s.offsets[index[joint]]) for s in (human, sized)]
        assert lengths[1] == pytest.approx(ratio * lengths[0])
    assert rest_points(sized)[:, 2].min() == pytest.approx(
        shape.leg * rest_points(human)[:, 2].min(), abs=1e-9
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_proportions_are_measured_on_a_skeleton(shape: BodyShape) -> None:
    found = shape_of(sized_skeleton(shape))
    np.testing.assert_allclose(found.ratios, shape.ratios, atol=1e-9)


def test_a_rig_of_the_solver_has_the_average_proportions() -> None:
    np.testing.assert_allclose(shape_of(load_skeleton("ik23")).ratios, 1.0, atol=2e-3)


def test_batches_of_ratios_give_batches_of_offsets() -> None:
    ratios = np.array([shape.ratios for shape in SHAPES])
    offsets = sized_offsets(ratios)
    for row, shape in zip(offsets, SHAPES, strict=True):
        np.testing.assert_array_equal(row, sized_skeleton(shape).offsets)


def test_the_height_follows_from_trunk_and_legs() -> None:
    shape = BodyShape(0.9, 1.3, 0.9)
    assert shape.scale == pytest.approx(0.9)
    assert shape.stature == pytest.approx(0.9 * 1.75)
    tall = rest_positions(sized_skeleton(shape))[:, 2].max()
    assert tall == pytest.approx(
        0.9 * rest_positions(load_skeleton("human23"))[:, 2].max()
    )


@pytest.mark.parametrize("value", [0.2, 2.0, float("nan")])
def test_proportions_of_nobody_are_refused(value: float) -> None:
    with pytest.raises(IKError, match="body shape: arm"):
        BodyShape(arm=value)
