"""Every training: the same seed gives the same bits, also when it was stopped in between."""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest
from fixtures.exits import refusal
from fixtures.model_files import members_of
from fixtures.run_files import table, weights
from fixtures.trainings import TRAININGS, VARIANTS

import ambulo
from ambulo.common.run_folder import RunFolder
from ambulo.common.signals import StopRequest

pytestmark = pytest.mark.integration


class Runs:
    """Runs of one training, with data that they share."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.training = name, (TRAININGS | VARIANTS)[name]
        self.command = self.training.load()
        self.out = folder / "runs"
        self.flags = [*self.training.data(folder), *self.training.flags]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.folder("whole", "--seed", "3")
        self.printed = printed.getvalue()

    def folder(self, name: str, *more: str, code: int = 0) -> RunFolder:
        """Train into a folder of this name."""
        place = ["--output", str(self.out), "--run-name", name]
        flags = [*self.flags, *place, *self.training.results, *more]
        assert self.command.main(flags) == code
        return self.open(name)

    def stopped(self, name: str, seed: int) -> RunFolder:
        """Train until a signal ends the run after some updates."""
        Counted.left = self.training.updates
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("ambulo.train.shared.run_command.StopRequest", Counted)
            return self.folder(name, "--seed", str(seed), code=130)

    @cached_property
    def part(self) -> tuple[RunFolder, str]:
        """A stopped run with the seed of the whole one, and what it printed."""
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            return self.stopped("part", 3), printed.getvalue()

    def copy(self, source: RunFolder, name: str) -> RunFolder:
        """Copy a run."""
        shutil.copytree(source.path, self.out / name)
        return self.open(name)

    def resume(self, name: str) -> int:
        folder = str(self.out / name)
        return self.command.main(["--resume", folder, *self.training.results])

    def open(self, name: str) -> RunFolder:
        return self.command.folder(self.out / name)


@pytest.fixture(scope="module", params=TRAININGS)
def runs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runs]:
    folder = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AMBULO_MOTION_CACHE", str(folder / "cache"))
        # Small parts, so that a gait training ends within one; short validations.
        patch.setattr("ambulo.motion.gaits.gait_sets.BLOCK", 5)
        patch.setattr("ambulo.train.trackers.validation.COUNT", 8)
        patch.setattr("ambulo.train.trackers.validation.PIECES", 2)
        yield Runs(request.param, folder)


class Counted(StopRequest):
    """A stop that is requested after some updates."""

    left = 0

    @property
    def signal_number(self) -> int | None:
        """Number of the signal; a training looks after each update."""
        Counted.left -= 1
        return 2 if Counted.left < 0 else None

    @signal_number.setter
    def signal_number(self, value: int | None) -> None:
        """Take the number that a real signal sets."""


def test_a_stopped_run_resumes_to_the_bits_of_a_whole_one(runs: Runs) -> None:
    """Also where the process died while it wrote the next checkpoint."""
    stopped, printed = runs.part
    assert f"{stopped.program} --resume {stopped.path}" in printed
    whole, part = runs.open("whole"), runs.copy(stopped, "resumed")
    kept = part.newest_checkpoint()
    assert kept is not None
    assert not part.final_model.exists()
    later = part.checkpoint(10**6)
    later.write_bytes(kept.read_bytes()[: kept.stat().st_size // 2])
    (part.checkpoints / f".{later.name}.1-2.tmp").write_bytes(b"half")
    assert part.newest_checkpoint() == kept
    later.unlink()
    assert runs.resume("resumed") == 0
    assert weights(part.final_model) == weights(whole.final_model)
    assert weights(part.final_model)
    assert weights(part.best_model) == weights(whole.best_model)
    assert table(part.metrics) == table(whole.metrics)
    assert not list(part.path.rglob("*.tmp"))
    for file in (whole.evaluations, *whole.path.glob("*.csv")):
        if file.exists() and file != whole.metrics:
            assert (part.path / file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param(name, marks=pytest.mark.slow if training.slow else ())
        for name, training in VARIANTS.items()
    ],
    indirect=True,
)
def test_so_does_one_with_other_settings(runs: Runs) -> None:
    test_a_stopped_run_resumes_to_the_bits_of_a_whole_one(runs)


def test_a_whole_run_is_loaded_and_names_no_place(runs: Runs) -> None:
    whole = runs.open("whole")
    assert ambulo.load(whole.path) is not None
    assert str(whole.best_model) in runs.printed
    assert list(whole.logs.rglob("events*"))
    place = str(runs.out.parent)
    for file in whole.path.rglob("*.zip"):
        assert not any(place in str(data) for data in members_of(file).values())


def test_another_seed_gives_other_bits(runs: Runs) -> None:
    one, other = runs.part[0], runs.stopped("other", 4)
    found = [folder.newest_checkpoint() for folder in (one, other)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].name == found[1].name
    assert weights(found[0]) != weights(found[1])


def test_a_finished_run_is_not_trained_again(runs: Runs) -> None:
    whole = runs.open("whole")
    files = (whole.best_model, whole.final_model)
    before, logged = [weights(file) for file in files], table(whole.metrics)
    assert runs.resume("whole") == 0
    assert [weights(file) for file in files] == before
    assert table(whole.metrics) == logged


def test_a_folder_is_used_by_one_training_at_a_time(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither `--resume` nor `--force` touches a run that is alive."""
    whole = runs.open("whole")
    before = weights(whole.final_model)
    alive = runs.open("whole")
    alive.claim()
    try:
        assert runs.resume("whole") == 2
        runs.folder("whole", "--force", code=2)
    finally:
        alive.release()
    error = f"ambulo: error: {whole.path}: a training is running in this folder"
    assert capsys.readouterr().err.count(error) == 2
    assert weights(whole.final_model) == before


def test_a_damaged_checkpoint_alone_is_refused(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = runs.copy(runs.open("whole"), "damaged")
    for file in copy.checkpoints.glob("*.zip"):
        file.write_bytes(file.read_bytes()[:-20])
    assert runs.resume("damaged") == 2
    assert "no checkpoint of this run is whole" in capsys.readouterr().err


def test_a_resumed_run_has_the_settings_and_the_kind_of_its_own(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = runs.open("whole")
    other = next(word for word in TRAININGS if word != runs.name)
    for main, target, more, rule in (
        (runs.command.main, whole.path, ["--set", "training.seed=9"], "seed cannot change"),
        (TRAININGS[other].load().main, whole.path, [], f"is a run of {whole.program}, not"),
    ):  # fmt: skip
        assert rule in refusal(main, ["--resume", str(target), *more], capsys)


def test_an_unfinished_run_continues_by_itself(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the same command is given again without `--fresh`."""
    if "--fresh" not in runs.flags:
        pytest.skip("continues with --resume alone")
    part = runs.copy(runs.part[0], "unfinished")
    flags = [flag for flag in runs.flags if flag != "--fresh"]
    place = ["--output", str(runs.out), "--run-name", "unfinished", "--seed", "3"]
    assert runs.command.main([*flags, *place, *runs.training.results]) == 0
    assert f"continuing {part.path}; --fresh" in capsys.readouterr().err
    assert weights(part.final_model) == weights(runs.open("whole").final_model)
