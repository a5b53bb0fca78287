"""Learned rigs on disk: exact, whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ambulo.rig_server import store
from ambulo.rig_server.frames import RigFrame
from ambulo.rig_server.layout import LEGS, RigError, RigLayout
from ambulo.rig_server.learner import RigLearner
from ambulo.rig_server.sequence import SequenceLearner
from ambulo.rig_server.store import Saver


@pytest.fixture(scope="module")
def learner(walk: list[RigFrame]) -> RigLearner:
    made = RigLearner(LEGS)
    for frame in walk[:150]:
        made.observe(frame)
        made.learn()
    return made


def test_a_restored_trainee_predicts_the_same(
    learner: RigLearner, walk: list[RigFrame], tmp_path: Path
) -> None:
    path = tmp_path / "rig.safetensors"
    sequence = SequenceLearner(LEGS)
    path.write_bytes(store.to_bytes(learner, sequence))
    other = RigLearner(LEGS, seed=9)
    store.restore(path, other, SequenceLearner(LEGS))
    assert other.progress.frames == 150
    assert other.progress.mean("loss") == learner.progress.mean("loss")
    np.testing.assert_array_equal(other.network.flat, learner.network.flat)
    np.testing.assert_allclose(
        other.predict(walk[170]).rotations,
        learner.predict(walk[170]).rotations,
        atol=0.01,
    )
    score = other.observe(walk[170])
    assert score.middle_error < 0.02
    other.learn()


def test_damaged_files_are_refused(learner: RigLearner, tmp_path: Path) -> None:
    whole = store.to_bytes(learner)
    path = tmp_path / "rig.safetensors"
    for data in (
        b"",
        whole[:100],
        whole[:-50],
        b"\xff" * 200,
        whole.replace(b"ambulo-rig", b"other--rig"),
    ):
        path.write_bytes(data)
        with pytest.raises(RigError, match=str(path)):
            store.restore(path, RigLearner(LEGS))
    with pytest.raises(RigError, match="cannot be read"):
        store.restore(tmp_path / "none", RigLearner(LEGS))


def test_weights_that_are_not_finite_are_refused(
    learner: RigLearner, tmp_path: Path
) -> None:
    other = RigLearner(LEGS)
    other.network.flat[7] = np.nan
    path = tmp_path / "rig.safetensors"
    path.write_bytes(store.to_bytes(other))
    with pytest.raises(RigError, match="not finite"):
        store.restore(path, RigLearner(LEGS))


def test_a_file_of_another_rig_is_refused(learner: RigLearner, tmp_path: Path) -> None:
    path = tmp_path / "rig.safetensors"
    path.write_bytes(store.to_bytes(learner))
    small = RigLayout("legs", ("a", "b"), (-1, 0), (1,))
    with pytest.raises(RigError, match="another rig"):
        store.restore(path, RigLearner(small))


def test_names_of_files_are_tame() -> None:
    name = store.file_name(LEGS.named("../../etc/passwd\x1b[31m"))
    assert name == f"_etc_passwd_31m-{LEGS.fingerprint}.safetensors"


def test_the_saver_keeps_the_newest(tmp_path: Path) -> None:
    saver, path = Saver(), tmp_path / "deep" / "a"
    for i in range(50):
        saver.put(path, str(i).encode())
    assert saver.flush()
    assert path.read_bytes() == b"49"
    assert 1 <= saver.written <= 50
    assert saver.failed == 0
    saver.close()


def test_a_full_disk_is_counted_and_the_old_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saver, path = Saver(), tmp_path / "a"
    saver.put(path, b"old")
    assert saver.flush()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        saver.put(path, b"new")
        assert saver.flush()
    assert saver.failed == 1
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["a"]
    saver.put(path, b"newer")  # and goes on when there is room again
    assert saver.flush()
    assert path.read_bytes() == b"newer"
    saver.close()


def test_unused_rigs_make_room_the_oldest_first(tmp_path: Path) -> None:
    files = [tmp_path / f"{i}{store.SUFFIX}" for i in range(5)]
    for age, file in enumerate(reversed(files)):
        file.write_bytes(bytes(100))
        os.utime(file, (1e9 - age, 1e9 - age))
    other = tmp_path / "notes.txt"
    other.write_bytes(bytes(10**6))
    new = tmp_path / f"new{store.SUFFIX}"
    used = {files[0], files[1]}
    assert store.make_room(new, 100, used, most=5, most_bytes=1000)
    assert [file.exists() for file in files] == [True, True, False, True, True]
    assert store.make_room(new, 800, used, most=5, most_bytes=1000)
    assert [file.exists() for file in files] == [True, True, False, False, False]
    assert not store.make_room(new, 801, used, most=5, most_bytes=1000)
    assert files[0].exists()
    assert store.make_room(files[0], 900, used, most=2, most_bytes=1000)
    assert other.exists()


def test_a_full_folder_of_models_is_said_once(
    make: Callable[..., Any],
    stream: list[NDArray[np.float32]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = make(models=tmp_path, max_model_bytes=1000)
    bench.streamed(("10.0.0.1", 1), stream[:5])
    bench.streamed(("10.0.0.2", 1), stream[:5])
    bench.server.close()
    assert list(tmp_path.iterdir()) == []
    assert bench.server.clients.saver.failed == 2
    assert caplog.text.count("the folder of models is full") == 1
