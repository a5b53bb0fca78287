"""Totals of an episode."""

from __future__ import annotations

import numpy as np

from ambulo.envs.locomotion.episode import EpisodeState


def test_a_step_adds_its_reward_path_and_work() -> None:
    episode = EpisodeState.zeros(3)
    before = np.zeros((3, 2))
    after = np.zeros((3, 7))
    after[:, :2] = [[0.3, -0.4], [3.0, 4.0], [0.0, 0.0]]
    terms = [np.array([1.0, 0.0, 0.5]), np.array([-0.25, 0.0, 0.25])]
    fault, work = np.array([0, 2, 0]), np.array([2.0, 0.0, 1.0])
    for _ in range(2):
        reward = episode.add(terms, (before, after), fault, work)
    assert reward.tolist() == [0.75, 0.0, 0.75]
    assert episode.reward.tolist() == [1.5, 0.0, 1.5]
    np.testing.assert_allclose(episode.path, [1.0, 0.0, 0.0])
    assert episode.work.tolist() == [4.0, 0.0, 2.0]
    assert episode.steps.tolist() == [0, 0, 0]
