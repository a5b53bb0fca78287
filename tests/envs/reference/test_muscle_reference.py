"""References of myolegs: standing, the cache of walks, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ambulo.shipped
from ambulo.configs.errors import ConfigError, MotionFileError
from ambulo.configs.locomotion import LocomotionConfig, LocomotionEnvironmentConfig
from ambulo.envs.characters.myo import myolegs
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference import muscle_reference
from ambulo.envs.reference.muscle_reference import (
    cache_key,
    default_cache,
    kept_walk,
    legs_reference,
    shipped_walk,
    standing_legs,
)
from ambulo.envs.reference.muscle_walk import between
from ambulo.envs.reference.reference import Reference
from ambulo.envs.reference.reference_table import ReferenceTable

LEGS = LocomotionEnvironmentConfig(character="myolegs", actuation="muscle")


@pytest.fixture(scope="module")
def standing() -> Reference:
    return standing_legs(myolegs(muscles=False), LEGS, "myolegs")


def test_standing_obeys_the_equations_of_motion(standing: Reference) -> None:
    assert standing.report["residual_force"] < 1.0
    assert standing.report["residual_moment"] < 0.2
    assert standing.table.speed == 0.0
    assert 0.9 < standing.table.qpos[0, 2] < 1.0
    assert np.abs(standing.table.torque).max() < 60.0


def test_muscles_stand_by_the_law(standing: Reference) -> None:
    config = LocomotionConfig(environment=LEGS.replace(task="stand"))
    batch = make_batch(config, 4, seed=0, reference=standing)
    batch.reset(np.arange(4))
    still = np.zeros((4, batch.action_size))
    ended = np.zeros(4, dtype=np.bool_)
    for _ in range(90):
        _, _, terminated, _, _ = batch.step(still)
        ended |= terminated
    assert not ended.any()
    assert np.abs(batch.state.deviation[:, 2]).max() < 0.03


def test_a_walk_is_made_once(
    standing: Reference, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def build(clip: str, *, muscles: bool) -> Reference:
        made.append((clip, muscles))
        return standing

    monkeypatch.setenv("AMBULO_REFERENCE_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(muscle_reference, "build_muscle_walk", build)
    clip = str(tmp_path / "walk.bvh")
    Path(clip).write_text("what stands here is not read", encoding="utf-8")
    first, second = kept_walk(clip), kept_walk(clip)
    assert made == [(clip, True)]
    np.testing.assert_array_equal(first.table.qpos, second.table.qpos)
    (entry,) = (tmp_path / "kept").iterdir()
    entry.write_bytes(b"not a reference")
    kept_walk(clip)
    assert made == [(clip, True)] * 2
    kept_walk(clip, muscles=False)
    assert made[-1] == (clip, False)
    assert default_cache() == tmp_path / "kept"


def test_a_walk_that_cannot_be_kept_is_told_before_and_used_all_the_same(
    standing: Reference,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: list[str] = []

    def build(clip: str, *, muscles: bool) -> Reference:
        told.append(caplog.text)
        return standing

    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("AMBULO_REFERENCE_CACHE", str(tmp_path / "file" / "kept"))
    monkeypatch.setattr(muscle_reference, "build_muscle_walk", build)
    assert kept_walk(str(tmp_path / "file")) is standing
    assert "is not kept" in told[0]
    assert "AMBULO_REFERENCE_CACHE names another folder" in told[0]


def test_an_entry_changes_with_the_clip_and_its_skeleton(tmp_path: Path) -> None:
    clip = tmp_path / "02_01.amc"
    with pytest.raises(MotionFileError, match="no such file"):
        cache_key(str(clip), True)
    keys = []
    for text in ("a", "b"):
        clip.write_text(text, encoding="utf-8")
        keys.append(cache_key(str(clip), True))
    (tmp_path / "02.asf").write_text("c", encoding="utf-8")
    keys.append(cache_key(str(clip), True))
    assert len({*keys, cache_key(str(clip), False)}) == 4


@pytest.mark.parametrize("actuation", ["muscle", "torque"])
def test_what_is_walked_when_no_clip_is_named(
    actuation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = LocomotionConfig(
        environment=LEGS.replace(actuation=actuation, push_impulse=(0.0, 0.0))
    )
    batch = make_batch(config, 4, seed=0)
    batch.reset(np.arange(4))
    still = np.zeros((4, batch.action_size))
    ended = np.zeros(4, dtype=np.bool_)
    for _ in range(90):
        _, _, terminated, _, _ = batch.step(still)
        ended |= terminated
    assert not ended.any()
    monkeypatch.setattr(ambulo.shipped, "__path__", [])
    with pytest.raises(ConfigError, match="not installed; name a clip"):
        shipped_walk()


def test_all_code_that_makes_a_walk_is_part_of_its_key() -> None:
    code = (
        "import sys, ambulo.envs.reference.muscle_walk;"
        "print(*(n for n in sys.modules if n.startswith('ambulo.')))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    rooms = {f"ambulo.{name}" for name in muscle_reference._SOURCES}
    for module in found.stdout.split():
        room = module if module in rooms else module.rpartition(".")[0]
        assert room in rooms


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"task": "locomote"}, "no gaits for myolegs yet"),
     ({"control_rate": 60}, "control_rate = 30 and substeps = 8, not 60 and 8")],
)  # fmt: skip
def test_what_walks_are_not_made_for(changes: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        legs_reference(LEGS.replace(**changes))


def test_between_two_references() -> None:
    body = myolegs(muscles=False)
    qpos = np.tile(body.model.qpos0, (4, 1))
    hip = int(body.model.joint("hip_flexion_r").qposadr[0])
    zero = np.zeros((4, body.model.nv))
    one = ReferenceTable(1.0, np.zeros(3), qpos, zero, zero)
    bent = qpos.copy()
    bent[:, hip] += 0.5
    two = ReferenceTable(1.0, np.array([1.0, 0.0, 0.0]), bent, zero, zero + 10.0)
    found = between(body, one, two, 0.6)
    np.testing.assert_allclose(found.qpos[:, hip] - qpos[:, hip], 0.3)
    np.testing.assert_allclose(found.torque, 6.0)
    np.testing.assert_allclose(found.stride, [0.6, 0.0, 0.0])
