"""Splits: what is never in two parts, and the file that keeps them."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.configs.errors import ConfigError, MotionError, MotionFileError
from ambulo.motion.datasets.clips import Clip, scan_clips
from ambulo.motion.datasets.splits import PARTS, Split, load_split, make_split

Folder = Callable[..., Path]

clip_lists = st.lists(
    st.tuples(
        st.sampled_from(["02", "05", "07", "13", "kim"]),
        st.integers(1, 9).map(lambda n: f"{n:02d}"),
        st.sampled_from(["walk", "run", "jump"]),
        st.sampled_from(["amc", "bvh"]),
    ),
    min_size=1,
    max_size=40,
    unique_by=lambda row: (row[0], row[1], row[3]),
).map(
    lambda rows: [
        Clip(Path(f"{ending}/{subject}_{trial}.{ending}"), subject, trial, activity)
        for subject, trial, activity, ending in rows
    ]
)


def split_or_none(clips: list[Clip], **options: object) -> Split | None:
    """The split, or None where there are too few clips for one."""
    try:
        return make_split(clips, **options)  # type: ignore[arg-type]
    except MotionError as error:
        if "no clip is left" not in str(error):
            raise
        return None


@given(
    clip_lists,
    st.sampled_from(["subject", "activity"]),
    st.integers(0, 99),
    st.floats(0.05, 0.5),
    st.sampled_from([0.0, 0.1, 0.4]),
    st.randoms(),
)
def test_every_clip_is_in_one_part_and_no_recording_in_two(
    clips: list[Clip],
    by: str,
    seed: int,
    test_ratio: float,
    validation_ratio: float,
    random: object,
) -> None:
    options = {
        "by": by,
        "seed": seed,
        "test_ratio": test_ratio,
        "validation_ratio": validation_ratio,
    }
    split = split_or_none(clips, **options)
    shuffled = list(clips)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert split_or_none(shuffled, **options) == split
    if split is None:
        return
    parts = [split.part(name) for name in PARTS]
    assert Counter(clip for part in parts for clip in part) == Counter(clips)
    units = [
        {clip.subject if by == "subject" else clip.key for clip in part}
        for part in parts
    ]
    assert not units[0] & units[1]
    assert not units[0] & units[2]
    assert not units[1] & units[2]
    assert split.train
    assert split.test
    assert bool(split.validation) == bool(validation_ratio)


@given(st.integers(3, 40), st.integers(3, 40), st.floats(0.05, 0.4), st.integers(0, 9))
def test_an_activity_split_gives_every_activity_its_share(
    walks: int, runs: int, ratio: float, seed: int
) -> None:
    clips = [
        Clip(Path(f"{activity}{i}.bvh"), str(i % 5), f"{activity}{i}", activity)
        for activity, count in (("walk", walks), ("run", runs))
        for i in range(count)
    ]
    split = make_split(clips, "activity", ratio, seed)
    tested = Counter(clip.activity for clip in split.test)
    trained = Counter(clip.activity for clip in split.train)
    for activity, count in (("walk", walks), ("run", runs)):
        assert trained[activity] >= 1
        wanted = min(max(1, int(count * ratio + 0.5)), count - 2)
        assert tested[activity] == wanted


def some_clips(clip_of: Callable[..., Clip]) -> list[Clip]:
    """Ten subjects with ten trials each."""
    return [clip_of(f"{s:02d}", f"{t:02d}") for s in range(10) for t in range(10)]


def test_a_subject_split_comes_near_its_ratios(clip_of: Callable[..., Clip]) -> None:
    split = make_split(some_clips(clip_of), "subject", 0.2, validation_ratio=0.1)
    assert [len(split.part(name)) for name in PARTS] == [70, 10, 20]


def test_another_seed_gives_another_split(clip_of: Callable[..., Clip]) -> None:
    clips = some_clips(clip_of)
    tests = {make_split(clips, "subject", seed=seed).test for seed in range(8)}
    assert len(tests) > 3


def test_named_people_are_the_test(clip_of: Callable[..., Clip]) -> None:
    split = make_split(some_clips(clip_of), test_subjects=["03", "07"])
    assert {clip.subject for clip in split.test} == {"03", "07"}
    assert split.validation


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"test_subjects": ["0"]}, r"no subject '0' \(did you mean '0"),
        ({"by": "activity", "test_subjects": ["03"]}, "needs a split by subject"),
        ({"by": "age"}, r"no split by 'age' \(valid: activity, subject\)"),
        ({"test_ratio": 0.0}, "above 0"),
        ({"test_ratio": 0.6, "validation_ratio": 0.4}, "nothing to learn from"),
        ({"test_subjects": [f"{s:02d}" for s in range(10)]}, "left for the train part"),
    ],
)
def test_wrong_wishes(
    clip_of: Callable[..., Clip], options: dict[str, object], rule: str
) -> None:
    with pytest.raises(MotionError, match=rule):
        make_split(some_clips(clip_of), **options)  # type: ignore[arg-type]


def test_too_few_people(clip_of: Callable[..., Clip]) -> None:
    clips = [clip_of("02", "01"), clip_of("02", "02"), clip_of("03", "01")]
    with pytest.raises(MotionError, match="3 clips of 2 subjects, split by subject"):
        make_split(clips)
    assert make_split(clips, validation_ratio=0.0).test


@pytest.fixture
def saved(data_folder: Folder, tmp_path: Path) -> tuple[Split, Path, Path]:
    """A split of real files, its file and the data folder."""
    names = [f"{s}/0{s}_0{t}.bvh" for s in range(1, 5) for t in range(1, 4)]
    folder = data_folder(*names)
    clips, _ = scan_clips(folder, check=False)
    split = make_split(clips, validation_ratio=0.25, test_ratio=0.25)
    file = tmp_path / "run" / "split_info.json"
    file.parent.mkdir()
    split.save(file, [folder])
    return split, file, folder


def test_a_split_comes_back(saved: tuple[Split, Path, Path]) -> None:
    split, file, _ = saved
    for path in (file, file.parent):
        back = load_split(path)
        for name in PARTS:
            assert [c.key for c in back.part(name)] == [c.key for c in split.part(name)]
            assert all(clip.path.is_file() for clip in back.part(name))
    assert (back.by, back.seed) == ("subject", 0)


def test_the_file_has_no_absolute_path(
    saved: tuple[Split, Path, Path], tmp_path: Path
) -> None:
    text = saved[1].read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    assert json.loads(text)["folders"] == ["../data"]


def test_data_and_split_can_move(
    saved: tuple[Split, Path, Path], tmp_path: Path
) -> None:
    split, file, folder = saved
    elsewhere = tmp_path / "other" / "place"
    shutil.copytree(folder, elsewhere)
    shutil.rmtree(folder)
    with pytest.raises(MotionFileError, match="is missing; name the folder"):
        load_split(file)
    back = load_split(file, [elsewhere])
    assert all(clip.path.is_relative_to(elsewhere) for clip in back.test)
    assert len(back.test) == len(split.test)


def test_a_clip_that_has_changed_is_named(saved: tuple[Split, Path, Path]) -> None:
    split, file, _ = saved
    changed = split.test[0].path
    changed.write_bytes(changed.read_bytes() + b" ")
    with pytest.raises(MotionFileError, match="has changed since") as caught:
        load_split(file)
    assert caught.value.path.name == changed.name
    assert load_split(file, check=False).test
    assert load_split(file, parts=["train"]).test == ()


def test_the_skeleton_of_an_amc_is_kept(tmp_path: Path) -> None:
    for name in ("02_01.amc", "02.asf", "03_01.bvh", "04_01.bvh"):
        (tmp_path / name).write_text(name)
    clips = [
        Clip(tmp_path / "02_01.amc", "02", "01", "walk", tmp_path / "02.asf"),
        Clip(tmp_path / "03_01.bvh", "03", "01", "walk"),
        Clip(tmp_path / "04_01.bvh", "04", "01", "walk"),
    ]
    split = make_split(clips, test_subjects=["02"])
    split.save(tmp_path / "split_info.json", [tmp_path])
    [clip] = load_split(tmp_path).test
    assert clip.asf is not None
    assert clip.asf.name == "02.asf"
    (tmp_path / "02.asf").write_text("another")
    with pytest.raises(MotionFileError, match=r"02\.asf: has changed"):
        load_split(tmp_path)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ("{", "not valid JSON"),
        ('{"version": 2}', "version"),
        ('{"version": 1, "by": "age"}', "by"),
    ],
)
def test_a_file_that_is_no_split(tmp_path: Path, content: str, rule: str) -> None:
    path = tmp_path / "split_info.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match=rule):
        load_split(path)
