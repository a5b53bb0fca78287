import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ambulo.envs.vr.geometry.solid_kernels import BOX, PERSON
from ambulo.envs.vr.navigator.tracks import (
    TRACKS,
    Tracks,
    gap_at,
    pose_at,
    track,
    tracks_of,
)

DT = 0.1
STEADY = 1e-6  # [rad/s] what turns more slowly moves straight


def empty():
    return tracks_of(Tracks.empty(1), 0)


def box(x, y, half=(0.5, 0.1), velocity=(0.0, 0.0, 0.0), z=1.0, kind=BOX):
    rest = (1.0, 0.0, z - 1.0, z + 1.0, kind)
    return np.array([x, y, *half, *rest, *velocity, 0.0])


def seen(*things):
    out = np.zeros((3, 13))
    for row, thing in zip(out, things, strict=False):
        row[:] = thing
    return out


def at(tracks, x, y):
    """Number of the track that is at (x, y)."""
    near = np.hypot(tracks.rows[:, 0] - x, tracks.rows[:, 1] - y) < 1e-6
    (found,) = np.flatnonzero(near & (tracks.seen >= 0))
    return int(found)


@given(st.integers(1, 15), st.floats(-1.0, 1.0), st.randoms())
@settings(max_examples=40, deadline=None)
def test_things_are_known_again_after_they_were_hidden(hidden, speed, random):
    tracks, steps = empty(), 3

    def things(t):
        rows = [
            box(2.0 + speed * t, 0.0, velocity=(speed, 0.0, 0.0)),
            box(2.0, 4.0, velocity=(0.0, 0.0, 0.0)),
            box(-3.0, 0.5 * t, half=(0.3, 0.1), velocity=(0.0, 0.5, 0.0)),
        ]
        random.shuffle(rows)
        return rows

    def numbers(t):
        return (
            at(tracks, 2.0 + speed * t, 0.0),
            at(tracks, 2.0, 4.0),
            at(tracks, -3.0, 0.5 * t),
        )

    for step in range(steps):
        track(tracks, seen(*things(step * DT)), step, DT)
    before = numbers((steps - 1) * DT)
    for step in range(steps, steps + hidden):
        track(tracks, seen(), step, DT)
    last = steps + hidden
    if hidden > 9:  # longer than a velocity is trusted: it waits where it was expected
        return
    track(tracks, seen(*things(last * DT)), last, DT)
    assert numbers(last * DT) == before


def test_sizes_and_kinds_tell_things_apart():
    tracks = empty()
    track(tracks, seen(box(1.0, 0.0)), 0, DT)
    track(tracks, seen(box(1.0, 0.0, half=(0.25, 0.25), kind=PERSON)), 1, DT)
    assert (tracks.seen >= 0).sum() == 2


def test_two_lifts_beside_each_other_keep_their_stops():
    tracks, half = empty(), (0.9, 0.9)

    def lift(x, top):
        row = box(x, 0.0, half=half)
        row[6:8] = top - 0.2, top
        return row

    for step in range(1, 4):
        track(tracks, seen(lift(0.0, 0.2), lift(2.2, 3.0)), step, DT)
    for step in range(4, 200):
        track(tracks, seen(), step, DT)
    track(tracks, seen(lift(2.2, 0.2), lift(0.0, 3.0)), 200, DT)
    assert (tracks.seen >= 0).sum() == 2
    for x in (0.0, 2.2):
        assert sorted(tracks.stops[at(tracks, x, 0.0)]) == [0.2, 3.0]


def test_rests_are_timed():
    tracks = empty()
    for step in range(30):
        moves = step < 5 or step >= 20
        thing = box(1.0, 0.0, velocity=(0.0, 0.3 if moves else 0.0, 0.0))
        track(tracks, seen(thing), step, DT)
    assert tracks.rest[0] == 15


def test_no_more_things_are_remembered_than_there_is_room_for():
    tracks = empty()
    for step in range(3 * TRACKS):
        track(tracks, seen(box(10.0 * step, 0.0)), step, DT)
    assert (tracks.seen >= 0).all()
    assert tracks.seen.min() >= 2 * TRACKS


@given(st.floats(-2.0, 2.0), st.floats(0.1, 1.0))
@example(rate=6e-8, t=1.0)
@settings(max_examples=40, deadline=None)
def test_a_door_turns_about_its_hinge(rate, t):
    hinge, half = np.array([1.0, 2.0]), 0.45
    row = box(hinge[0] + half, hinge[1], half=(half, 0.02))[:9]
    velocity = np.array([0.0, rate * half, 0.0, rate])
    x, y, cos, sin = pose_at(row, velocity, t)
    angle = rate * t
    np.testing.assert_allclose(
        [x - hinge[0], y - hinge[1]],
        half * np.array([np.cos(angle), np.sin(angle)]),
        atol=STEADY,
    )
    np.testing.assert_allclose([cos, sin], [np.cos(angle), np.sin(angle)], atol=STEADY)
    assert gap_at(row, velocity, t, x, y) == 0.0
