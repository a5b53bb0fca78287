"""Every training: the same seed gives the same bits, also when it was stopped in between."""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from fixtures.gait_data import write_data
from fixtures.locomotion_runs import settings, standing_reference
from fixtures.motion import write_people
from fixtures.poses import make_poses
from fixtures.trackers import sequences

from ambulo.common.run_folder import RunFolder
from ambulo.common.signals import StopRequest
from ambulo.ik.data.pose_data import save_poses
from ambulo.ik.data.sequences import save_sequences

pytestmark = pytest.mark.integration

STAGES = {
    "training": {
        "use_curriculum": True,
        "curriculum_stages": [
            {"name": "near", "max_goal_distance": 8, "timesteps": 128},
            {"name": "pillars", "max_goal_distance": 12, "levels": ["open", "pillars"],
             "timesteps": 128},
            {"name": "far", "max_goal_distance": 30, "timesteps": 10_000},
        ],
    },
    "environment": {"level_refresh": 2},
}  # fmt: skip


def stages(folder: Path) -> list[str]:
    file = folder / "stages.json"
    file.write_text(json.dumps(STAGES), encoding="utf-8")
    return ["--config", str(file)]


def standing(folder: Path) -> list[str]:
    reference = standing_reference(folder / "s.npz")
    pushed = {"push_impulse": [5, 20]}
    return ["--config", str(settings(folder / "c.json", reference, environment=pushed))]


def walks(folder: Path) -> list[str]:
    return ["--bvh_dir", str(write_people(folder / "data"))]


def poses(folder: Path) -> list[str]:
    save_poses(folder / "poses.npz", make_poses())
    return ["--data", str(folder / "poses.npz")]


def tracks(folder: Path) -> list[str]:
    save_sequences(folder / "sequences.npz", sequences())
    return ["--data", str(folder / "sequences.npz")]


def gaits(folder: Path) -> list[str]:
    return ["--data", str(write_data(folder / "data"))]


@dataclass(frozen=True)
class Training:
    """A training at its smallest."""

    command: str
    """Module of `COMMAND`."""
    data: Callable[[Path], list[str]]
    """Makes data in a folder and returns the flags that name it."""
    flags: tuple[str, ...]
    """Flags of a run of some updates with several checkpoints."""
    updates: int
    """Updates until the signal comes: inside an epoch or a curriculum's second stage."""
    results: tuple[str, ...] = ("--no-progress", "--episodes", "2")
    """Flags that shorten what comes after the training."""


def sets(*values: str) -> tuple[str, ...]:
    return tuple(word for value in values for word in ("--set", value))


TRAININGS = {
    "vr": Training(
        "ambulo.train.vr.command", stages,
        ("--preset", "quick_test", "--num-envs", "8", "--timesteps", "512",
         "--save-freq", "256", "--eval-freq", "256", "--eval-episodes", "3",
         *sets("ppo.n_steps=16", "ppo.n_epochs=2", "environment.max_episode_steps=40",
               "network.net_arch=32,32", "environment.levels_per_family=3")),
        2, ("--no-progress", "--episodes", "1"),
    ),
    "walk": Training(
        "ambulo.train.locomotion.command", standing, (), 3
    ),
    "motion": Training(
        "ambulo.train.motion.command", walks,
        ("--mode", "transformer_reg", "--epochs", "3", "--batch_size", "16",
         *sets("model.width=16", "model.depth=1", "model.heads=2", "model.history=4",
               "model.chunk=5", "dataset.stride=4", "dataset.window=2",
               "training.rollout_ratio=0.5", "training.rollout_steps=3",
               "dataset.validation_ratio=0.2", "training.save_every=2")),
        3,
    ),
    "ik": Training(
        "ambulo.train.ik.command", poses,
        ("--fresh", "--epochs", "3", "--batch-size", "64", "--threads", "1",
         "--device", "cpu",
         *sets("network.hidden=[24,16]", "dataset.least=50", "training.warmup_steps=5",
               "training.save_every=3")),
        4,
    ),
    "trackers": Training(
        "ambulo.train.trackers.command", tracks,
        ("--fresh", "--preset", "quick_test", "--threads", "1",
         *sets("training.epoch_steps=4", "training.streams=4", "training.steps=8")),
        6,
    ),
    "gait": Training(
        "ambulo.train.gait.command", gaits,
        ("--fresh", "--epochs", "3", "--buffer-rows", "600", "--batch-size", "128",
         "--threads", "1", "--device", "cpu", "--learning-rate", "1e-3",
         *sets("network.hidden=24", "training.passes=2", "dataset.validation=0.2",
               "training.save_every=3", "loss.feet=0.5", "training.jitter=0.1",
               "training.weight_decay=0.1", "training.average=0.9")),
        5,
    ),
    "muscle": Training(
        "ambulo.train.muscle.command", lambda folder: [],
        ("--preset", "quick_test", "--poses", "60", "--steps", "14", "--batch-size", "16",
         "--threads", "1",
         *sets("network.hidden=[16]", "training.epoch_steps=6",
               "training.validation_poses=20", "training.save_every=4")),
        9,
    ),
}  # fmt: skip


class Runs:
    """Runs of one training, with data that they share."""

    def __init__(self, name: str, folder: Path) -> None:
        self.training = TRAININGS[name]
        self.command = importlib.import_module(self.training.command).COMMAND
        self.out = folder / "runs"
        self.flags = [*self.training.data(folder), *self.training.flags]
        self.folder("whole", "--seed", "3")

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


def weights(path: Path) -> dict[str, bytes]:
    """The bytes of all tensors of a model."""
    if path.is_dir():
        return {file.name: file.read_bytes() for file in path.glob("*.safetensors")}
    if path.suffix == ".safetensors":
        return {"": path.read_bytes()}
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".safetensors")]
        return {name: archive.read(name) for name in names if "training" not in name}


def rows(folder: RunFolder) -> list[dict[str, str]]:
    """What a run logged, without what depends on the clock."""
    with folder.metrics.open(encoding="utf-8", newline="") as stream:
        found: list[dict[str, Any]] = list(csv.DictReader(stream))
    return [
        {key: value for key, value in row.items() if not key.startswith(CLOCKS)}
        for row in found
    ]


CLOCKS = ("seconds", "time/", "rows_per_second")


def test_a_stopped_run_resumes_to_the_bits_of_a_whole_one(
    runs: Runs,
) -> None:
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
    assert rows(part) == rows(whole)
    assert not list(part.path.rglob("*.tmp"))


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
    before, logged = [weights(file) for file in files], rows(whole)
    assert runs.resume("whole") == 0
    assert [weights(file) for file in files] == before
    assert rows(whole) == logged


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
