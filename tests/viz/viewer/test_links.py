import numpy as np

from ambulo.motion.rotations import quat_rotate
from ambulo.viz.viewer.links import balls, links

GREY = np.full((1, 3), 128, np.uint8)


def test_links_join_their_ends() -> None:
    rng = np.random.default_rng(0)
    starts, ends = rng.normal(size=(2, 20, 3))
    starts[0], ends[0] = [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]  # straight down
    made = links(starts, ends, np.full(20, 0.1), np.repeat(GREY, 20, axis=0))
    tops = quat_rotate(
        made.turns, np.column_stack([np.zeros((20, 2)), made.scales[:, 2]])
    )
    np.testing.assert_allclose(made.positions + tops, ends, atol=1e-9)
    np.testing.assert_allclose(made.positions - tops, starts, atol=1e-9)


def test_a_link_of_no_length_has_a_rotation() -> None:
    here = np.zeros((1, 3))
    made = links(here, here, np.array([0.1]), GREY)
    np.testing.assert_allclose(np.linalg.norm(made.turns, axis=1), 1.0)
    assert made.scales[0, 2] == 0.0


def test_balls_have_their_radius_along_all_axes() -> None:
    made = balls(np.ones((1, 3)), np.array([0.2]), GREY)
    np.testing.assert_allclose(made.scales, [[0.2, 0.2, 0.2]])
