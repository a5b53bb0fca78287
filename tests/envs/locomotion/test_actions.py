"""Actions within their range, and the joint targets that they move."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import ActionError
from ambulo.envs.locomotion.actions import checked_actions, target_offsets


def test_actions_are_copied_and_clipped() -> None:
    given = np.array([[-3.0, -1.0, 0.25], [1.0, 1.5, -0.5]], np.float32)
    found = checked_actions(given, (2, 3))
    assert found.dtype == np.float64
    assert found.tolist() == [[-1.0, -1.0, 0.25], [1.0, 1.0, -0.5]]
    assert given.max() == 1.5
    np.testing.assert_array_equal(checked_actions(found.T.copy().T, (2, 3)), found)


def test_bad_actions_are_named() -> None:
    with pytest.raises(ActionError, match=r"expected shape \(2, 3\), got \(3, 2\)"):
        checked_actions(np.zeros((3, 2)), (2, 3))
    for bad in (np.nan, np.inf, -np.inf):
        actions = np.zeros((3, 2))
        actions[1, 1] = actions[2, 0] = bad
        with pytest.raises(ActionError, match="actions of body 1 are not finite"):
            checked_actions(actions, (3, 2))


def test_targets_are_moved_by_actions_and_the_controller_within_its_limit() -> None:
    actions = np.array([[1.0, -0.5]])
    controller = np.array([[0.1, 0.9, -0.9]])
    found = target_offsets(
        actions, 0.2, np.array([6, 8]), controller, 0.5, np.array([8, 9, 10]), 12
    )
    expected = np.zeros(12)
    expected[[6, 8, 9, 10]] = 0.2, -0.1 + 0.1, 0.5, -0.5
    np.testing.assert_allclose(found, [expected])
    none = np.zeros(0, np.int64)
    alone = target_offsets(actions, 0.2, np.array([6, 8]), controller, 0.5, none, 12)
    assert np.flatnonzero(alone[0]).tolist() == [6, 8]
