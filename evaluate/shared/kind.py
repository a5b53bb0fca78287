"""Interface between `ambulo eval` and the evaluation of one kind of model."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console

from ambulo.common.console import bars
from ambulo.configs.errors import ConfigError
from ambulo.evaluate.shared.choices import ALL, NONE, chosen
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    MetricColumn,
    ModelEvaluation,
    Picture,
)


class Flag:
    """A flag of `ambulo eval`: the arguments of `add_argument`."""

    def __init__(self, *names: str, **options: Any) -> None:
        """Keep what `ArgumentParser.add_argument` takes."""
        self.names, self.options = names, options

    @property
    def attribute(self) -> str:
        """Its attribute among the parsed arguments."""
        dest: str = self.options.get("dest") or self.names[0][2:].replace("-", "_")
        return dest


@dataclass(frozen=True)
class EvalKind:
    """How models of one kind are evaluated; `ambulo.evaluate.kinds` holds one per file.

    `run` and `baselines` are names of the form "module:attribute", imported when used.
    """

    kinds: tuple[str, ...]
    """Kinds of model files, as the model registry names them."""
    name: str
    """Singular, such as "gait policy"."""
    group: str
    """Plural of the models that share its flags, such as "locomotion models"."""
    run: str
    """Function `EvalRequest -> EvalOutcome`."""
    episodes: int
    """Default of `--episodes`; 0: all that the data hold."""
    shared: frozenset[str] = frozenset()
    """Attributes of the flags of several kinds that this one accepts too."""
    own: tuple[Flag, ...] = ()
    """Flags that this kind brings."""
    baselines: str | Mapping[str, str] = field(default_factory=dict)
    """Baselines by name: a mapping, or where to import it from."""

    @property
    def flags(self) -> frozenset[str]:
        """Attributes of optional flags that this kind accepts."""
        return self.shared | {flag.attribute for flag in self.own}

    def evaluate(self, request: EvalRequest) -> EvalOutcome:
        """Run the evaluation."""
        run: Callable[[EvalRequest], EvalOutcome] = _imported(self.run)
        return run(request)

    def chosen_baselines(self, text: str | None) -> tuple[str, ...]:
        """Return the baselines named in `--baselines`; all of them for None and "all".

        Raises:
            ConfigError: No baseline has such a name.
        """
        known: Mapping[str, Any] = (
            _imported(self.baselines)
            if isinstance(self.baselines, str)
            else self.baselines
        )
        text = ALL if text is None else text
        return chosen("--baselines", text, known, "baseline", none=True)


@dataclass(frozen=True)
class EvalRequest:
    """One evaluation to run."""

    kind: EvalKind
    """Kind of the model."""
    file: Path | None
    """Model file; None: baselines alone."""
    args: argparse.Namespace
    """Flags of `ambulo eval`."""
    baselines: tuple[str, ...]
    """Names of the baselines."""
    command: str
    """Command line."""

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
    agents: Iterable[str], episodes: int
) -> Iterator[Callable[[str, int], None]]:
    """Show a progress bar for each agent on a terminal, else lines now and then.

    Yields:
        Function that adds a number of finished episodes, or none, to those of an agent.
    """
    with bars(16, unit="episodes") as progress:
        tasks = {name: progress.add_task(name, total=episodes) for name in agents}
        yield lambda name, count: progress.advance(tasks[name], count)


def _imported(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
