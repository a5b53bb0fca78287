"""All kinds of model: which one a file is, its header, and the model itself.

A kind is a file of `policies/kinds` that has a `ModelSpec` under the name `SPEC`; it is
found by listing the folder. Headers are read without torch.
"""

from __future__ import annotations

import logging
import os
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import ambulo.policies.kinds
import ambulo.shipped
from ambulo.configs.base import Config
from ambulo.configs.errors import ModelFileError
from ambulo.policies.export.written import Written
from ambulo.policies.files.raw_headers import raw_header
from ambulo.policies.files.spec import ModelSpec

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ModelCard:
    """A shipped or pulled model, as its header describes it."""

    name: str
    """Name for `ambulo.load` and the commands."""
    kind: str
    """Kind of model (see `policies/kinds`)."""
    summary: str
    """One line: what models of this kind do."""
    headline: str
    """One line on this model."""
    path: Path
    """Its main file; a README.md lies beside that of a shipped one."""


def shipped_cards() -> dict[str, ModelCard]:
    """Return the cards of all shipped models by name."""
    shipped = ambulo.shipped.shipped_models()
    return {name: _card(name, file) for name, file in shipped.items()}


def pulled_cards() -> dict[str, ModelCard]:
    """Return the cards of all models of `ambulo pull` by name.

    A damaged one is left out with a warning.
    """
    cards: dict[str, ModelCard] = {}
    for name, file in ambulo.shipped.pulled_models().items():
        try:
            cards[name] = _card(name, file)
        except ModelFileError as error:
            logger.warning("%s", error)
    return cards


def _card(name: str, file: Path) -> ModelCard:
    """Return the card of the model in a file."""
    spec, raw, source = _identified(file)
    headline = spec.headline(spec.parse(raw, source))
    return ModelCard(name, spec.kind, spec.summary, headline, file)


@cache
def model_kinds() -> dict[str, ModelSpec[Any]]:
    """Return the description of every kind of model by its name."""
    package = ambulo.policies.kinds
    specs = [
        import_module(f"{package.__name__}.{module.name}").SPEC
        for module in pkgutil.iter_modules(package.__path__)
    ]
    return {spec.kind: spec for spec in specs}


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return the kind of the model in a file: `vr_navigation`, `locomotion`, ...

    Raises:
        ModelFileError: Missing, damaged, or no model file.
    """
    return spec_of(path).kind


def read_header(path: str | os.PathLike[str]) -> Config:
    """Return the header of the model in a file, checked, without its weights.

    Raises:
        ModelFileError: Missing, damaged, newer, or no model file.
    """
    spec, raw, source = _identified(path)
    header: Config = spec.parse(raw, source)
    return header


def load_file(path: str | os.PathLike[str], **settings: Any) -> Any:
    """Return the model in a file, ready to use; its class depends on its kind.

    Args:
        path: The file.
        **settings: Passed to the kind's loader.

    Raises:
        ModelFileError: Missing, damaged, newer, or no model file.
    """
    load = function_of(spec_of(path).loader)
    return load(_main_file(path), **settings)


def export_model(
    spec: ModelSpec[Any], target: str, model: Any, path: Path, **settings: Any
) -> Written:
    """Write a model for another program.

    Args:
        spec: Description of its kind.
        target: One of `spec.targets`.
        model: What the kind's loader made.
        path: The new file.
        **settings: Passed to the target's writer.

    Raises:
        ModelFileError: The file cannot be written, or differs from the model.
    """
    if target in spec.writers:
        written: Written = function_of(spec.writers[target])(model, path, **settings)
        return written
    from ambulo.policies.export.graph import write_graph

    return write_graph(function_of(spec.graph)(model), path)


def spec_of(path: str | os.PathLike[str]) -> ModelSpec[Any]:
    """Return the description of the kind of the model in a file.

    Raises:
        ModelFileError: Missing, damaged, or no model file.
    """
    return _identified(path)[0]


def function_of(name: str) -> Callable[..., Any]:
    """Return the function that a `ModelSpec` names as `module:function`."""
    found: Callable[..., Any] = resolve_name(name)
    return found


def _identified(
    path: str | os.PathLike[str],
) -> tuple[ModelSpec[Any], dict[str, Any], str]:
    """Return the kind of a model file, its raw header, and where that was found."""
    raw, source = raw_header(_main_file(path))
    for spec in model_kinds().values():
        if spec.owns(raw):
            return spec, raw, source
    label = raw.get("kind") or raw.get("format")
    if label is None:
        raise ModelFileError(f"{source}: not a model file: it names no kind of model")
    raise ModelFileError(
        f"{source}: {label!r} is no kind of model (valid: {', '.join(model_kinds())})"
    )


def _main_file(path: str | os.PathLike[str]) -> Path:
    """Return the file itself, or the main file of a model's folder."""
    place = Path(path)
    return (ambulo.shipped.main_file(place) or place) if place.is_dir() else place
