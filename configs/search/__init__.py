"""What a training is judged by, and which of its settings are searched: one JSON file each.

The files have the names of the folders of presets (`configs/presets`).
"""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Annotated, Literal

from pydantic import Field

from ambulo.configs.base import Config, json_names, load_json
from ambulo.configs.errors import ConfigError, nearest


class Score(Config):
    """A score of trained models."""

    name: str
    """Its name in `scores.json` and `evaluations.json`, or in `metrics.csv` behind
    `validation/`."""
    label: str
    """Its name in tables and pictures, with the unit."""
    better: Literal["higher", "lower"]
    """Which scores are better."""
    ideal: float | None = None
    """The best possible score, for the optimality gap; None: there is no such bound."""
    selected_by: str | None = None
    """Column that chooses the best row of `metrics.csv`; None: the score itself."""

    @property
    def sign(self) -> float:
        """1 if higher is better, else -1."""
        return 1.0 if self.better == "higher" else -1.0


class TrainingKind(Config):
    """How trainings of one kind are compared and tuned."""

    logged_in: Literal["evaluations", "metrics"]
    """The file of a run with its learning curve: evaluations.json or metrics.csv."""
    steps: str
    """Name of the steps of a learning curve."""
    scores: Annotated[tuple[Score, ...], Field(min_length=1)]
    """The scores; the first one is used unless another is named."""
    search: dict[str, str]
    """Range of each setting that is searched, as `low:high[:log]` or `a,b,c`."""

    def score(self, name: str | None) -> Score:
        """Return the score `name`, or the first one.

        Raises:
            ConfigError: there is none of that name.
        """
        if name is None:
            return self.scores[0]
        for score in self.scores:
            if score.name == name:
                return score
        names = [score.name for score in self.scores]
        hint = nearest(name, names) or f"; there are {', '.join(names)}"
        raise ConfigError(f"--score: unknown score {name!r}{hint}")


def load_kind(folder: str) -> TrainingKind:
    """Return how trainings with the presets in `folder` are compared."""
    with as_file(files(__name__).joinpath(f"{folder}.json")) as path:
        return load_json(TrainingKind, path)


def kind_names() -> tuple[str, ...]:
    """Return the folders of presets that have such a file."""
    return json_names(__name__)
