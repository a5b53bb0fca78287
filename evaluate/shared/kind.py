"""Interface between `ambulo eval` and the evaluation of one kind of model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from ambulo.common.console import bars
from ambulo.configs.errors import ConfigError
from ambulo.evaluate.shared.choices import NONE
from ambulo.evaluate.shared.eval_kind import EvalKind
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    MetricColumn,
    ModelEvaluation,
    Picture,
)


@dataclass(frozen=True)
class EvalRequest:
    """One evaluation to run."""

    kind: EvalKind
    """Kind of the model."""
    file: Path | None
    """Model file; None: baselines alone."""
    args: Any
    """Flags of `ambulo eval`: `evaluate.flags.EvalFlags` with those of all kinds."""
    baselines: tuple[str, ...]
    """Names of the baselines."""
    command: str
    """Command line."""
    requires_data: bool = False
    """Whether the data of the model are needed."""

    @property
    def episodes(self) -> int:
        """Number of episodes."""
        return self.args.episodes or self.kind.episodes

    @property
    def seed(self) -> int:
        """Seed of everything random."""
        seed: int = self.args.seed
        return seed

    @property
    def model_file(self) -> Path:
        """Model file of a kind that needs one.

        Raises:
            ConfigError: There is none.
        """
        if self.file is None:
            raise ConfigError(f"MODEL: a {self.kind.name} is needed, not {NONE}")
        return self.file

    def result(
        self,
        agents: Mapping[str, AgentMetrics],
        columns: Sequence[MetricColumn],
        evaluated: str,
        **more: Any,
    ) -> ModelEvaluation:
        """Return the result of this request; `more` are fields of `ModelEvaluation`."""
        return ModelEvaluation(
            model=NONE if self.file is None else str(self.file),
            kind=more.pop("kind", self.kind.kinds[0]),
            episodes=more.pop("episodes", self.episodes),
            seed=self.seed,
            command=self.command,
            evaluated=evaluated,
            agents=agents,
            columns=columns,
            **more,
        )


@dataclass(frozen=True)
class EvalOutcome:
    """A finished evaluation, and what can be drawn of it."""

    evaluation: ModelEvaluation
    """The numbers."""
    pictures: Callable[[], Sequence[Picture]] = tuple
    """Draws the pictures of the report."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Settings, for the report."""
    film: Callable[[Path, Console], None] | None = None
    """Writes a film; `RenderError` where that fails."""
    films: tuple[str, ...] = ()
    """Names of films that belong to every report."""


@contextmanager
def episode_bars(
    agents: Iterable[str], episodes: int, label: str = ""
) -> Iterator[Callable[[str, int], None]]:
    """Show a progress bar for each agent, after a `label`; off a terminal lines now and then.

    Yields:
        Function that adds a number of finished episodes, or none, to those of an agent.
    """
    with bars(16, unit="episodes") as progress:
        tasks = {n: progress.add_task(f"{label}{n}", total=episodes) for n in agents}
        yield lambda name, count: progress.advance(tasks[name], count)
