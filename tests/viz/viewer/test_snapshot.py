import numpy as np

from ambulo.viz.viewer.snapshot import (
    Instances,
    Lines,
    Part,
    Picture,
    Snapshot,
    between,
)

GREY = np.full((1, 3), 128, np.uint8)


def at(x: float, turn: tuple[float, ...], *, steady: bool = False) -> Instances:
    one = np.ones((1, 3))
    return Instances(np.array([[x, 0.0, 0.0]]), np.array([turn]), one, GREY, steady)


def shot(time: float, part: Part, *, cut: bool = False) -> Snapshot:
    return Snapshot(time, np.array([time, 0.0, 0.0]), {"body": part}, cut=cut)


def test_half_way_between_two_snapshots() -> None:
    half = np.sqrt(0.5)
    first = shot(0.0, at(0.0, (1.0, 0.0, 0.0, 0.0)))
    # The same rotation by 90 degrees about Z, with the other sign.
    second = shot(2.0, at(4.0, (-half, 0.0, 0.0, -half)))
    middle = between(first, second, 0.5)
    part = middle.parts["body"]
    assert isinstance(part, Instances)
    assert middle.time == 1.0
    np.testing.assert_allclose(part.positions, [[2.0, 0.0, 0.0]])
    wanted = [[np.cos(np.pi / 8), 0.0, 0.0, np.sin(np.pi / 8)]]
    np.testing.assert_allclose(part.turns, wanted, atol=1e-12)


def test_nothing_moves_on_from_another_episode() -> None:
    first = shot(0.0, at(0.0, (1.0, 0.0, 0.0, 0.0)))
    second = shot(1.0, at(9.0, (1.0, 0.0, 0.0, 0.0)), cut=True)
    assert between(first, second, 0.1) is second


def test_steady_parts_jump() -> None:
    first = shot(0.0, at(0.0, (1.0, 0.0, 0.0, 0.0)))
    second = shot(1.0, at(9.0, (1.0, 0.0, 0.0, 0.0), steady=True))
    assert between(first, second, 0.5).parts["body"] is second.parts["body"]


def test_lines_move_and_another_number_of_them_jumps() -> None:
    zero, one = np.zeros((1, 2, 3)), np.ones((1, 2, 3))
    middle = between(shot(0.0, Lines(zero, GREY)), shot(1.0, Lines(one, GREY)), 0.25)
    part = middle.parts["body"]
    assert isinstance(part, Lines)
    np.testing.assert_allclose(part.points, 0.25 * one)
    more = Lines(np.ones((2, 2, 3)), np.repeat(GREY, 2, axis=0))
    jumped = between(shot(0.0, Lines(zero, GREY)), shot(1.0, more), 0.25)
    assert jumped.parts["body"] is more


def test_moved_parts() -> None:
    part = at(1.0, (1.0, 0.0, 0.0, 0.0)).moved(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(part.positions, [[2.0, 2.0, 3.0]])


def test_pictures_jump() -> None:
    middle = between(shot(0.0, Picture(b"a")), shot(1.0, Picture(b"b")), 0.9)
    part = middle.parts["body"]
    assert isinstance(part, Picture)
    assert part.data == b"b"
