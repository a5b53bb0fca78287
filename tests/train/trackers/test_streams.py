"""What body trackers learn from: sets of trackers, other people's arms, loose belts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from fixtures.trackers import sequences

from ambulo.configs.body_tracker import TrackerDataConfig
from ambulo.ik.trackers.layout import HEAD_ROW, HIPS_ROW, LEFT_FOOT, RIGHT_FOOT
from ambulo.motion.skeletons import load_skeleton
from ambulo.train.ik.kinematics import TreeKinematics
from ambulo.train.trackers.sources import SequenceSource
from ambulo.train.trackers.streams import ARMS, Streams, TrackerPiece
from ambulo.train.trackers.tracker_sets import ALWAYS, MORE, draw_sets


def drawn(**settings: float) -> TrackerPiece:
    """A piece of 8 streams of 12 steps."""
    streams = Streams(
        SequenceSource(sequences()),
        TrackerDataConfig(**settings),
        TreeKinematics(load_skeleton("human23")),
        count=8, steps=12, lead=0.06, seed=3,
    )  # fmt: skip
    return streams.draw()


@pytest.mark.parametrize(
    ("others", "more"),
    [((1, 0, 0, 0), (1, 0, 0)), ((0, 1, 0, 0), (0, 1, 1)), ((0, 0, 1, 0), (1, 1, 1))],
)
def test_a_chosen_set_is_the_only_one(
    others: tuple[float, ...], more: tuple[int, ...]
) -> None:
    there = draw_sets(np.random.default_rng(0), 5, three=0.0, others=others)
    np.testing.assert_array_equal(there[list(ALWAYS)], 1.0)
    np.testing.assert_array_equal(there[list(MORE)], np.tile(more, (5, 1)).T)


def test_sets_are_drawn_in_their_shares() -> None:
    there = draw_sets(np.random.default_rng(0), 20_000, three=0.4, others=(1, 1, 1, 1))
    hips, left, right = there[HIPS_ROW], there[LEFT_FOOT], there[RIGHT_FOOT]
    nothing = (hips + left + right == 0).mean()
    assert nothing == pytest.approx(0.4 + 0.15 / 8, abs=0.01)
    assert (hips * (1 - left) * (1 - right)).mean() == pytest.approx(0.169, abs=0.01)
    assert (left * right * (1 - hips)).mean() == pytest.approx(0.169, abs=0.01)
    assert (left * right * hips).mean() == pytest.approx(0.169, abs=0.01)


def test_arms_of_other_people_leave_the_rest_alone() -> None:
    own, other = drawn(arms=0.0), drawn(arms=1.0)
    rest = [joint for joint in range(23) if joint not in ARMS]
    torch.testing.assert_close(own.local[rest], other.local[rest])
    moved = (own.local[list(ARMS)] - other.local[list(ARMS)]).abs().amax((0, 1, 2, 3))
    assert (moved > 1e-3).all()
    torch.testing.assert_close(
        own.ticks.positions[:, HEAD_ROW], other.ticks.positions[:, HEAD_ROW]
    )


def test_a_belt_tilts_more_than_a_hand_turns_in_its_grip() -> None:
    streams = Streams(
        SequenceSource(sequences()), TrackerDataConfig(),
        TreeKinematics(load_skeleton("human23")), count=512, steps=4, lead=0.06, seed=1,
    )  # fmt: skip
    streams.draw()
    turns = torch.acos((streams.grip_turn.diagonal(dim1=1, dim2=2).sum(-1) - 1.0) / 2.0)
    sizes = turns.mean(1)
    assert sizes[HEAD_ROW] < sizes[LEFT_FOOT] < 0.6 * sizes[HIPS_ROW]
