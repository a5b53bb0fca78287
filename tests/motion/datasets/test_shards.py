"""Windows streamed from shards: buffers, damage, and making shards."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fixtures.windows import memory, numbered, write

from ambulo.configs.errors import MotionError, MotionFileError
from ambulo.motion.datasets.activities import ACTIVITIES
from ambulo.motion.datasets.clips import scan_clips
from ambulo.motion.datasets.prepare import prepare_clip
from ambulo.motion.datasets.shards import INDEX, ShardWriter, make_shards, read_index
from ambulo.motion.datasets.states import N_STATE, States
from ambulo.motion.datasets.streaming import StreamingMotionDataset


def test_one_large_shard_streams_what_memory_gives(tmp_path: Path) -> None:
    folder = write(tmp_path, [50, 40, 30, 7], longest=8, room=1000)
    streamed = StreamingMotionDataset(folder, window=8, batch_size=10, seed=4)
    for a, b in zip(streamed, memory(), strict=True):
        assert a.states.dtype == b.states.dtype == np.float32
        assert a.activities.dtype == b.activities.dtype == np.int64
        np.testing.assert_array_equal(a.states, b.states)


def test_the_buffer_is_all_that_is_held(tmp_path: Path) -> None:
    folder = write(tmp_path, [50, 40, 30, 7], longest=8, room=20)
    buffer = 40 * 4 * N_STATE
    data = StreamingMotionDataset(folder, window=8, buffer_mb=buffer / 1e6)
    for _ in data:
        assert data._buffer is not None
        assert data._buffer.nbytes <= buffer
    turned = StreamingMotionDataset(
        folder, window=8, buffer_mb=buffer / 1e6, mirror=True
    )
    for _ in turned:
        assert turned._buffer is not None
        assert turned._buffer.nbytes <= buffer
    with pytest.raises(MotionError, match=r"buffer_mb = 0\.001: a shard in"):
        StreamingMotionDataset(folder, window=8, buffer_mb=0.001)
    with pytest.raises(MotionError, match="windows up to 8 frames"):
        StreamingMotionDataset(folder, window=9)


def test_data_that_fit_into_the_buffer_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path, [50, 40, 30, 7], longest=8, room=20)
    read: list[int] = []
    real = StreamingMotionDataset._read

    def counted(self: StreamingMotionDataset, shard: int, out: States) -> None:
        read.append(shard)
        real(self, shard, out)

    monkeypatch.setattr(StreamingMotionDataset, "_read", counted)
    data = StreamingMotionDataset(folder, window=8, mirror=True)
    fresh = StreamingMotionDataset(folder, window=8, mirror=True)
    fresh.set_epoch(1)
    list(data)
    count = len(read)
    assert count == len(set(read)) > 5
    second = list(data)
    assert len(read) == count
    for a, b in zip(second, fresh, strict=True):
        np.testing.assert_array_equal(a.states, b.states)


@pytest.mark.parametrize("damage", ["gone", "cut", "long", "flip"])
def test_a_damaged_shard_is_named(tmp_path: Path, damage: str) -> None:
    folder = write(tmp_path, [50, 40], longest=8, room=20)
    path = sorted(folder.glob("*.f32"))[1]
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[77] ^= 4
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(
            {"cut": data[:-4], "long": data + b"1234", "flip": data}[damage]
        )
    with pytest.raises(MotionFileError, match="make the shards again") as caught:
        list(StreamingMotionDataset(folder, window=8))
    assert caught.value.path == path


@pytest.mark.parametrize(
    "change",
    [
        {"version": 9},
        {"pieces": [[0, 0, 0, 500, 500, 0]]},
        {"pieces": [[7, 0, 0, 5, 5, 0]]},
        {"pieces": [[0, -3, 0, 5, 5, 0]]},
        {"shards": [{"file": "../x.f32", "frames": 1, "crc32": 0}]},
        {"activities": ["sleep"]},
    ],
)
def test_a_damaged_index_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    folder = write(tmp_path, [20], longest=8, room=20)
    index = json.loads((folder / INDEX).read_text())
    (folder / INDEX).write_text(json.dumps({**index, **change}))
    with pytest.raises(MotionFileError, match=INDEX):
        StreamingMotionDataset(folder, window=8)


def test_no_shards(tmp_path: Path) -> None:
    with pytest.raises(MotionFileError, match="no index of shards"):
        StreamingMotionDataset(tmp_path, window=8)


def test_shards_of_clips(
    data_folder: Callable[..., Path], cache: Path, tmp_path: Path
) -> None:
    folder = data_folder("02_01.bvh", "02_03.bvh", "kim/jump.bvh")
    (folder / "02_04.bvh").write_text("junk")
    clips, _ = scan_clips(folder, check=False)
    errors: list[MotionFileError] = []
    place = tmp_path / "shards"
    index = make_shards(clips, place, longest_window=20, errors=errors)
    assert [error.path.name for error in errors] == ["02_04.bvh"]
    assert index.clip_frames.tolist() == [25, 25, 25]
    assert sorted(ACTIVITIES[a] for a in index.activity) == ["jump", "run", "walk"]
    batch = next(iter(StreamingMotionDataset(place, window=20, shuffle=False)))
    states = prepare_clip(folder / "02_01.bvh")
    np.testing.assert_array_equal(
        batch.states[:6], [states[i : i + 20] for i in range(6)]
    )

    before = {file: file.stat().st_mtime_ns for file in place.iterdir()}
    assert make_shards(clips, place, longest_window=20).identity == index.identity
    assert {file: file.stat().st_mtime_ns for file in place.iterdir()} == before

    changed = make_shards(clips[:1], place, longest_window=20)
    assert changed.identity != index.identity
    assert len(list(place.glob("*.f32"))) == len(changed.files) == 1


def test_writing_shards_was_cut_off(tmp_path: Path) -> None:
    write(tmp_path, [50], longest=8, room=20)
    writer = ShardWriter(tmp_path, 25.0, 8, 20, "other0000000")
    writer.add(numbered([50])[0], "walk")
    with pytest.raises(MotionFileError, match="no index"):
        read_index(tmp_path)


def test_shards_too_small_for_the_window(tmp_path: Path) -> None:
    with pytest.raises(MotionError, match="too few for windows of 5000"):
        make_shards([], tmp_path, longest_window=5000)
