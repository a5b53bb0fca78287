"""All trainings: one JSON file each in this folder, the only list of them.

A file names the commands of a training, its scores, and the settings that are searched. It has
the name of its presets folder (`configs/presets`).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files
from typing import Annotated, Literal

from pydantic import Field

from ambulo.configs.base import Config, load_json
from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.reading import json_names


class Score(Config):
    """A score of trained models."""

    name: str
    """Its name in `scores.json` and `evaluations.json`, or in `metrics.csv` after
    `validation/`."""
    label: str
    """Its name in tables and pictures, with the unit."""
    better: Literal["higher", "lower"]
    """Direction of better scores."""
    ideal: float | None = None
    """The best possible score, for the optimality gap; None: there is no such bound."""
    selected_by: str | None = None
    """Column that selects the best row of `metrics.csv`; None: the score itself."""

    @property
    def sign(self) -> float:
        """1 if higher is better, else -1."""
        return 1.0 if self.better == "higher" else -1.0


class TrainingCommand(Config):
    """One command of a training."""

    summary: str
    """Purpose, in one line."""
    module: str
    """Module with its `COMMAND`, a `RunCommand`, and the function `main` of its script."""
    former: tuple[str, ...] = ()
    """Earlier names of the word in `ambulo train WORD`."""


class TrainingKind(Config):
    """How trainings of one kind are started, compared and tuned."""

    commands: Annotated[dict[str, TrainingCommand], Field(min_length=1)]
    """Commands by the word of `ambulo train WORD`; sweeps use the first one."""
    logged_in: Literal["evaluations", "metrics"]
    """The file of a run with its learning curve: evaluations.json or metrics.csv."""
    steps: str
    """Name of the steps of a learning curve."""
    scores: Annotated[tuple[Score, ...], Field(min_length=1)]
    """The scores; the first one is the default."""
    search: dict[str, str]
    """Range of each searched setting, as `low:high[:log]` or `a,b,c`."""

    @property
    def word(self) -> str:
        """The word of its first command."""
        return next(iter(self.commands))

    def score(self, name: str | None) -> Score:
        """Return the score `name`, or the first one.

        Raises:
            ConfigError: The score does not exist.
        """
        if name is None:
            return self.scores[0]
        for score in self.scores:
            if score.name == name:
                return score
        names = [score.name for score in self.scores]
        hint = nearest(name, names) or f"; there are {', '.join(names)}"
        raise ConfigError(f"--score: unknown score {name!r}{hint}")


@cache
def load_kind(folder: str) -> TrainingKind:
    """Return the trainings with the presets in `folder`."""
    with as_file(files(__name__).joinpath(f"{folder}.json")) as path:
        return load_json(TrainingKind, path)


def kind_names() -> tuple[str, ...]:
    """Return the names of all trainings, which are those of their presets folders."""
    return json_names(__name__)


def kind_of_command(typed: str) -> str | None:
    """Return the training of `ambulo train WORD`, or of a script, such as train_motion."""
    word = typed.removeprefix("ambulo train ")
    for kind in kind_names():
        for name, command in load_kind(kind).commands.items():
            if word in (name, command.module.rpartition(".")[2]):
                return kind
    return None


def folder_of(word: str) -> str | None:
    """Return the presets folder of `ambulo train WORD`, or None for an unknown word."""
    return next((n for n in kind_names() if word in load_kind(n).commands), None)
