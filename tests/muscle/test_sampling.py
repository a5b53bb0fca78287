"""Random poses, patterns, muscle groups and targets."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest

from ambulo.configs.errors import MuscleError
from ambulo.configs.jobs import here
from ambulo.muscle.muscle_nn import ReducedPattern, muscle_groups
from ambulo.muscle.muscles import MuscleLayer
from ambulo.muscle.sampling import (
    _closed,
    _drawn_pose,
    feasible_targets,
    random_activations,
    sample_muscles,
)
from ambulo.muscle.solver import solve
from ambulo.train.shared.jobs import Workers

Load = Callable[[str], mujoco.MjModel]


def test_groups_join_parts_and_keep_sides() -> None:
    names = ("glmax1_r", "glmax2_r", "soleus_r", "glmax1_l", "TRIlong", "12")
    groups, member = muscle_groups(names)
    assert groups == ("glmax_r", "soleus_r", "glmax_l", "TRIlong", "12")
    assert member.tolist() == [0, 0, 1, 2, 3, 4]


def test_poses_keep_limits_and_ties(packaged: Load) -> None:
    layer = MuscleLayer(packaged("myolegs"))
    rng = np.random.default_rng(0)
    knee = layer.model.joint("knee_angle_r")
    angles = []
    for _ in range(50):
        qpos, qvel = _closed(layer, *_drawn_pose(layer, rng))
        np.testing.assert_array_equal(layer.coupling.closed(qpos), qpos)
        assert (qvel[:6] == 0.0).all()
        angles.append(qpos[knee.qposadr[0]])
    low, high = knee.range
    assert low <= min(angles) < low + 0.3
    assert high - 0.3 < max(angles) <= high


def test_pattern_of_myolegs(packaged: Load) -> None:
    layer = MuscleLayer(packaged("myolegs"))
    samples = sample_muscles(layer, 20, np.random.default_rng(1))
    assert samples.pattern.shape == (14, 80)
    assert samples.values.shape == (20, 228)
    np.testing.assert_array_equal(
        samples.pattern.reduce(samples.active), samples.values
    )
    assert (samples.groups == 1.0).all()
    targets = feasible_targets(samples, np.random.default_rng(2))
    found = solve(samples.active, targets)
    assert np.sqrt((found.residual**2).mean()) < 0.02 * np.sqrt((targets**2).mean())


def test_weakness_scales_whole_groups(packaged: Load) -> None:
    layer = MuscleLayer(packaged("myolegs"))
    healthy = sample_muscles(layer, 5, np.random.default_rng(3))
    # The factors are drawn before the poses, so the poses are the same.
    weak = sample_muscles(
        layer, 5, np.random.default_rng(3), weakness=(0.2, 0.5),
        pattern=healthy.pattern,
    )  # fmt: skip
    names, member = muscle_groups(layer.table.names)
    force = weak.groups[:, : len(names)]
    assert force.min() >= 0.2
    assert 0.3 < (force < 1.0).mean() < 0.7
    ratio = weak.values / healthy.values
    expected = force[:, member[healthy.pattern.muscles]]
    seen = np.abs(healthy.values) > 1e-3
    np.testing.assert_allclose(ratio[seen], expected[seen], rtol=1e-9)
    assert (weak.groups[:, len(names) :] == 1.0).all()


@pytest.mark.integration
def test_samples_do_not_depend_on_who_works(packaged: Load) -> None:
    layer = MuscleLayer(packaged("myofinger"))
    alone, many = (
        sample_muscles(
            layer, 600, np.random.default_rng(5), weakness=(0.2, 0.5), apply=apply
        )
        for apply in (here, Workers(count=2).in_order)
    )
    np.testing.assert_array_equal(many.values, alone.values)
    np.testing.assert_array_equal(many.passive, alone.passive)
    np.testing.assert_array_equal(many.groups, alone.groups)


def test_activations_cover_rest_and_effort() -> None:
    drawn = random_activations(2000, 10, np.random.default_rng(4))
    assert drawn.shape == (2000, 10)
    assert (drawn >= 0.0).all()
    assert (drawn < 1.0).all()
    level = drawn.max(axis=1)
    assert (level < 0.1).mean() > 0.05
    assert (level > 0.7).mean() > 0.05


def test_bad_input_is_named(packaged: Load) -> None:
    layer = MuscleLayer(packaged("myofinger"))
    with pytest.raises(MuscleError, match="expected 1 or more, got 0"):
        sample_muscles(layer, 0, np.random.default_rng(0))
    narrow = ReducedPattern(np.array([0]), np.array([0]), (4, 5))
    with pytest.raises(MuscleError, match="that the pattern does not have"):
        sample_muscles(layer, 2, np.random.default_rng(0), pattern=narrow)
