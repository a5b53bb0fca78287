"""The description of one kind of model, from which the registry works."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ambulo.configs.base import Config, parse
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.policies.files.headers import FileHeader, parse_header

H = TypeVar("H", bound=Config)
RawHeader = Mapping[str, Any]
"""The JSON header of a model file, not checked yet."""


@dataclass(frozen=True)
class ModelSpec(Generic[H]):
    """One kind of model: a file of `policies/kinds` has it under the name `SPEC`."""

    kind: str
    """Unique name; model files of our zip format have it in their header."""
    summary: str
    """One line: what the model does."""
    header: type[H]
    """The class of its header; importing it needs no torch."""
    loader: str
    """`module:function` that makes the model of a path, ready to use.

    A string, so that naming a kind imports nothing of it.
    """
    headline: Callable[[H], str]
    """One line on a model of this kind, from its header."""
    formats: tuple[str, ...] = ()
    """Values of `format` in the raw header of its files; () for our zip format."""
    matches: Callable[[RawHeader], bool] = lambda raw: True
    """Whether a raw header of these `formats` is of this kind."""

    graph: str = ""
    """`module:function` that makes the `Graph` of a model of `loader`, for ONNX files."""
    writers: Mapping[str, str] = field(default_factory=dict)
    """Writers of other files by the name of the target, as `module:function`.

    The function takes the model of `loader` and the new file, and returns a `Written`.
    """

    @property
    def targets(self) -> tuple[str, ...]:
        """Targets of `ambulo export`."""
        return (*(("onnx",) if self.graph else ()), *self.writers)

    def is_named(self, kind: object) -> bool:
        """Return whether `kind` is this kind's name, or that of earlier versions."""
        former = (
            self.header.former_kind if issubclass(self.header, FileHeader) else None
        )
        return kind is not None and kind in (self.kind, former)

    def owns(self, raw: RawHeader) -> bool:
        """Return whether a file with the raw header `raw` is of this kind."""
        if self.is_named(raw.get("kind")):
            return True
        return raw.get("format") in self.formats and self.matches(raw)

    def parse(self, raw: RawHeader, source: str) -> H:
        """Return the raw header `raw` as a checked header; errors name `source`."""
        if issubclass(self.header, FileHeader):
            return parse_header(self.header, raw, source)
        try:
            return parse(self.header, dict(raw), source)
        except ConfigError as error:
            raise ModelFileError(str(error)) from None
