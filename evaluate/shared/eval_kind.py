"""How models of one kind are evaluated, as data; nothing heavy is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

from ambulo.common.command_line import Flags, arguments_of
from ambulo.evaluate.shared.choices import ALL, chosen


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
    flags: frozenset[str] = frozenset()
    """Fields of optional flags of several kinds that this one accepts."""
    baselines: str | Mapping[str, str] = field(default_factory=dict)
    """Baselines by name: a mapping, or where to import it from."""
    own: type[Flags] = Flags
    """Flags that this kind brings."""

    @property
    def accepted(self) -> frozenset[str]:
        """Fields of all optional flags that this kind accepts."""
        every = {argument.name for argument in arguments_of(Flags)}
        own = {argument.name for argument in arguments_of(self.own)}
        return self.flags | (own - every)

    def evaluate(self, request: Any) -> Any:
        """Return the `EvalOutcome` of an `EvalRequest`."""
        return resolve_name(self.run)(request)

    def chosen_baselines(self, text: str | None) -> tuple[str, ...]:
        """Return the baselines named in `--baselines`; all of them for None and "all".

        Raises:
            ConfigError: No baseline has such a name.
        """
        known: Mapping[str, Any] = (
            resolve_name(self.baselines)
            if isinstance(self.baselines, str)
            else self.baselines
        )
        text = ALL if text is None else text
        return chosen("--baselines", text, known, "baseline", none=True)
