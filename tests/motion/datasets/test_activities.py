"""Labels of clips."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambulo.configs.errors import MotionFileError
from ambulo.motion.datasets.activities import (
    ACTIVITIES,
    activity_of,
    cmu_activities,
    cmu_trials,
    find_manifest,
    label_of_text,
    read_manifest,
)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("walk", "walk"),
        ("SlowWalk_2", "walk"),
        ("run/jog, sudden stop", "run"),
        ("walk, then jump", "walk"),
        ("jump, balance", "jump"),
        ("jumping jacks, jog", "exercise"),
        ("soccer - kick ball", "sport"),
        ("pick box up, bend from waist", "reach"),
        ("box", "fight"),
        ("opposite direction", None),
        ("chicken (human subject)", "animal"),
        ("chicken dance", "dance"),
        ("dance_a", "dance"),
        ("humanoid3d_backflip", "acrobatics"),
        ("", None),
        ("xyz", None),
    ],
)
def test_the_first_activity_that_a_text_names(text: str, label: str | None) -> None:
    assert label_of_text(text) == label


def test_the_table_of_cmu_trials() -> None:
    table = cmu_activities()
    assert set(table.values()) <= set(ACTIVITIES)
    assert len(table) > 2400
    assert (table["02_01"], table["02_03"], table["02_04"]) == ("walk", "run", "jump")
    assert cmu_trials("02") == tuple(f"02_{trial:02d}" for trial in range(1, 11))
    assert cmu_trials("999") == ()


def test_sources_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "manifest.csv"
    path.write_text(
        "subject,trial,activity\n2,1,boxing\n02,,skeleton\n02,07,jump\n",
        encoding="utf-8",
    )
    manifest = read_manifest(path)
    clip = Path("02_01.bvh")
    assert activity_of(clip, "02", "01", manifest) == "fight"
    assert activity_of(clip, "02", "01") == "walk"
    assert activity_of(Path("02_03.bvh"), "02", "03", manifest) == "run"
    assert activity_of(Path("a_dance.bvh"), "kim", "a_dance", manifest) == "dance"
    assert activity_of(Path("take7.bvh"), "kim", "take7", manifest) == "other"


def test_a_manifest_above_the_folder_is_found(tmp_path: Path) -> None:
    inner = tmp_path / "asfamc" / "02"
    inner.mkdir(parents=True)
    assert find_manifest(inner) is None
    (tmp_path / "manifest.csv").write_text("subject,trial,activity\n", encoding="utf-8")
    assert find_manifest(inner) == tmp_path / "manifest.csv"


@pytest.mark.parametrize(
    ("content", "line", "rule"),
    [
        (b"subject,trial\n02,01\n", 2, "needs a column 'activity'"),
        (b"subject,trial,activity\n02,01,walk\n02\n", 3, "needs a column 'trial'"),
        (b"\xff\xfe\x00", 0, "UTF-8"),
    ],
)
def test_a_broken_manifest(
    tmp_path: Path, content: bytes, line: int, rule: str
) -> None:
    path = tmp_path / "manifest.csv"
    path.write_bytes(content)
    with pytest.raises(MotionFileError, match=rule) as caught:
        read_manifest(path)
    assert (caught.value.path, caught.value.line) == (path, line)
