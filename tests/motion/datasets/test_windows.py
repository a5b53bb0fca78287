"""Windows in memory and streamed from shards."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fixtures.windows import expected, labels, memory, numbered, starts, write
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.configs.errors import MotionError
from ambulo.motion.datasets.states import N_STATE, mirror_states
from ambulo.motion.datasets.streaming import StreamingMotionDataset
from ambulo.motion.datasets.windows import MotionWindows, WindowBatch, WindowedDataset

lengths_lists = st.lists(st.integers(1, 60), min_size=1, max_size=8)


@given(
    lengths_lists,
    st.integers(1, 9),
    st.integers(1, 5),
    st.integers(1, 30),
    st.integers(0, 3),
)
def test_an_epoch_has_every_window_once(
    lengths: list[int], window: int, stride: int, batch_size: int, seed: int
) -> None:
    data = MotionWindows(
        numbered(lengths),
        labels(len(lengths)),
        window=window,
        stride=stride,
        batch_size=batch_size,
        seed=seed,
    )
    batches = list(data)
    wanted = expected(lengths, window, stride)
    assert sorted(starts(batches)) == wanted
    assert len(data) == len(wanted)
    assert len(batches) == data.num_batches
    assert all(len(batch.states) == batch_size for batch in batches[:-1])


@settings(max_examples=25)
@given(
    lengths_lists,
    st.integers(1, 8),
    st.integers(1, 5),
    st.integers(1, 30),
    st.integers(1, 4),
    st.integers(16, 40),
)
def test_workers_together_stream_every_window_once(
    tmp_path_factory: pytest.TempPathFactory,
    lengths: list[int],
    window: int,
    stride: int,
    batch_size: int,
    workers: int,
    room: int,
) -> None:
    folder = write(tmp_path_factory.mktemp("s"), lengths, longest=8, room=room)

    def stream(worker: int, count: int) -> list[WindowBatch]:
        return list(
            StreamingMotionDataset(
                folder,
                window=window,
                stride=stride,
                batch_size=batch_size,
                worker=worker,
                workers=count,
                buffer_mb=2 * room * 4 * N_STATE / 1e6,
            )
        )

    alone = stream(0, 1)
    assert sorted(starts(alone)) == expected(lengths, window, stride)
    for worker in range(workers):
        own = stream(worker, workers)
        assert len(own) == len(alone[worker::workers])
        for a, b in zip(own, alone[worker::workers], strict=True):
            np.testing.assert_array_equal(a.states, b.states)


@pytest.fixture(params=["memory", "streaming"])
def make(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Callable[..., WindowedDataset]:
    """Makes one of the two kinds of data set on the same clips."""
    if request.param == "memory":
        return memory
    folder = write(tmp_path, [50, 40, 30, 7], longest=8, room=20)

    def streaming(**options: object) -> WindowedDataset:
        chosen = {"window": 8, "batch_size": 10, "seed": 4, **options}
        buffer = 45 * 4 * N_STATE / 1e6
        return StreamingMotionDataset(folder, buffer_mb=buffer, **chosen)  # type: ignore[arg-type]

    return streaming


Make = Callable[..., WindowedDataset]


def test_seed_and_epoch_decide_about_the_order(make: Make) -> None:
    data = make()
    first, second = starts(list(data)), starts(list(data))
    again = make()
    assert starts(list(again)) == first
    assert starts(list(again)) == second
    assert first != second
    assert sorted(first) == sorted(second) == expected([50, 40, 30, 7], 8, 1)
    assert starts(list(make(seed=5))) != first
    again.set_epoch(0)
    assert starts(list(again)) == first


def test_without_shuffling_the_order_is_that_of_the_clips(make: Make) -> None:
    data = make(shuffle=False)
    assert starts(list(data)) == starts(list(data)) == expected([50, 40, 30, 7], 8, 1)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("stop", [0, 1, 3, 5])
def test_a_resumed_epoch_goes_on_as_if_nothing_had_happened(
    make: Make, stop: int, workers: int
) -> None:
    options = {"mirror": True, "worker": workers - 1, "workers": workers}
    whole = make(**options)
    whole.set_epoch(3)
    wanted = [*whole, *whole]
    data = make(**options)
    data.set_epoch(3)
    stream = iter(data)
    for _ in range(stop):
        next(stream)
    state = json.loads(json.dumps(data.state_dict()))
    resumed = make(**options)
    resumed.load_state_dict(state)
    got = [*resumed, *resumed]
    assert len(got) == len(wanted) - stop
    for a, b in zip(got, wanted[stop:], strict=True):
        np.testing.assert_array_equal(a.states, b.states)
        np.testing.assert_array_equal(a.activities, b.activities)


def test_a_state_of_other_settings_is_refused(make: Make) -> None:
    state = make().state_dict()
    with pytest.raises(MotionError, match="other data or settings"):
        make(seed=9).load_state_dict(state)


def test_a_state_of_other_data_or_another_buffer_is_refused(tmp_path: Path) -> None:
    data, other = numbered([50]), numbered([50])
    other[0][7, 7] += 1.0
    state = MotionWindows(data, ["walk"], window=8).state_dict()
    MotionWindows(data, ["walk"], window=8).load_state_dict(state)
    for clips, label in ((other, "walk"), (data, "run")):
        with pytest.raises(MotionError, match="other data or settings"):
            MotionWindows(clips, [label], window=8).load_state_dict(state)
    folder = write(tmp_path, [50, 40], longest=8, room=20)
    state = StreamingMotionDataset(folder, window=8).state_dict()
    with pytest.raises(MotionError, match="other data or settings"):
        StreamingMotionDataset(folder, window=8, buffer_mb=0.02).load_state_dict(state)


def test_only_some_activities(make: Make) -> None:
    data = make()
    data.set_epoch(0, ["run"])
    wanted = [start for start in expected([50, 40, 30, 7], 8, 1) if start // 1000 == 1]
    assert len(data) == len(wanted)
    assert sorted(starts(list(data))) == wanted
    assert sorted(starts(list(data))) == wanted  # stays so in the next epoch
    data.set_epoch(2, ["climb"])
    assert list(data) == []
    data.set_epoch(0)
    assert len(list(data)) == data.num_batches > 5
    with pytest.raises(MotionError, match="did you mean 'jump'"):
        data.set_epoch(0, ["jumpp"])


def test_a_last_batch_that_is_not_full(make: Make) -> None:
    assert len(make()) == 43 + 33 + 23
    assert [len(states) for states, _ in make()][-2:] == [10, 9]
    assert [len(states) for states, _ in make(drop_last=True)] == [10] * 9


def test_half_of_the_windows_are_mirrored(make: Make) -> None:
    turned, plain = [], []
    for states, activities in make(mirror=True):
        # Column 0 is of a rotation vector about X: its mirror has the opposite sign.
        mirrored = states[:, -1, 0] < 0.0
        turned.append(
            WindowBatch(mirror_states(states[mirrored]), activities[mirrored])
        )
        plain.append(WindowBatch(states[~mirrored], activities[~mirrored]))
    found = starts(turned)
    assert 30 < len(found) < 70
    assert sorted(found + starts(plain)) == expected([50, 40, 30, 7], 8, 1)


def test_other_windows_are_mirrored_in_the_next_epoch(make: Make) -> None:
    data = make(mirror=True, shuffle=False)
    signs = [
        np.concatenate([states[:, -1, 0] < 0.0 for states, _ in data]) for _ in range(2)
    ]
    assert 20 < np.sum(signs[0] != signs[1]) < 80


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"window": 0}, "window=0"),
        ({"stride": 0}, "stride=0"),
        ({"worker": 2, "workers": 2}, "worker=2, workers=2"),
    ],
)
def test_settings_that_make_no_sense(
    make: Make, options: dict[str, int], rule: str
) -> None:
    with pytest.raises(MotionError, match=rule):
        make(**options)


def test_states_of_another_shape() -> None:
    wrong = np.zeros((10, 3), dtype=np.float32)
    with pytest.raises(MotionError, match=r"expected states \(T, 112\)"):
        MotionWindows([wrong], ["walk"], window=2)
    with pytest.raises(MotionError, match="no activity 'wlak'"):
        MotionWindows(numbered([5]), ["wlak"], window=2)
    with pytest.raises(MotionError, match="1 clips, but 2 activities"):
        MotionWindows(numbered([5]), ["walk", "run"], window=2)
