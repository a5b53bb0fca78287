"""Kinds of models that `ambulo eval` knows: one file each, found by listing the folder."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from ambulo.configs.errors import ModelFileError
from ambulo.evaluate.shared.eval_kind import EvalKind


@cache
def all_kinds() -> tuple[EvalKind, ...]:
    """Return the `KIND` of every module of this folder."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(import_module(f"{__name__}.{name}").KIND for name in names)


def eval_kind(kind: str, source: str) -> EvalKind:
    """Return how models of `kind` are evaluated.

    Raises:
        ModelFileError: Models of this kind cannot be evaluated.
    """
    for known in all_kinds():
        if kind in known.kinds:
            return known
    names = ", ".join(name for known in all_kinds() for name in known.kinds if name)
    raise ModelFileError(f"{source}: kind {kind!r} cannot be evaluated (only {names})")
