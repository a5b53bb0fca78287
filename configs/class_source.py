"""Fields of classes as their source files have them, without importing them.

Help is made of it: settings and their checks are slow to import.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

PLAIN = ("bool", "float", "int", "str", "tuple")
"""Names of types that command lines tell apart."""


@dataclass(frozen=True)
class SourceField:
    """A field of a class in a file."""

    module: str
    """Module of the class that declares it."""
    annotation: ast.expr
    """Its type."""
    doc: str
    """The docstring under it; empty without one."""

    def types(self) -> set[str]:
        """Return the plain types in the annotation, by name."""
        return set(_type_names(self.module, self.annotation)) & {*PLAIN}


@dataclass(frozen=True)
class _Source:
    """The classes, aliases and imports at the top of a file, by name."""

    classes: dict[str, ast.ClassDef]
    aliases: dict[str, ast.expr]
    modules: dict[str, str]


def attribute_docs(owner: type) -> dict[str, str]:
    """Return the docstring under each field of a class and of its bases, by field."""
    docs: dict[str, str] = {}
    for kind in reversed(owner.__mro__):
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        node = _parsed(file).classes.get(kind.__qualname__) if file else None
        if node is not None:
            docs |= {name: doc for name, _, doc in _fields(node) if doc}
    return docs


def setting_source(config: str, key: str) -> SourceField:
    """Return the field of a setting.

    Args:
        config: `module:Class` of the settings.
        key: Dotted key, such as `training.seed`.

    Raises:
        KeyError: There is no such setting.
    """
    module, _, name = config.partition(":")
    *groups, last = key.split(".")
    for group in groups:
        field = _find_field(module, name, group, key)
        names = _type_names(field.module, field.annotation)
        module, name = next(
            place
            for place in (_definition(field.module, each) for each in names)
            if place[1] in _source(place[0]).classes
        )
    return _find_field(module, name, last, key)


def _find_field(module: str, name: str, field: str, key: str) -> SourceField:
    """Return a field of the class `name`, or of one of its bases."""
    waiting = [(module, name)]
    while waiting:
        module, name = _definition(*waiting.pop(0))
        node = _source(module).classes.get(name)
        if node is None:
            continue
        for own, annotation, doc in _fields(node):
            if own == field:
                return SourceField(module, annotation, doc)
        waiting += [(module, b.id) for b in node.bases if isinstance(b, ast.Name)]
    raise KeyError(key)


def _type_names(module: str, annotation: ast.expr) -> Iterator[str]:
    """Yield the names in an annotation, outer ones first; aliases as what they stand for."""
    match annotation:
        case ast.Name(id=name):
            place, known = _definition(module, name)
            alias = _source(place).aliases.get(known)
            yield from [name] if alias is None else _type_names(place, alias)
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=parts)):
            yield from _type_names(module, parts[0])
        case ast.Subscript(value=outer, slice=inner):
            yield from _type_names(module, outer)
            yield from _type_names(module, inner)
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from _type_names(module, part)
        case ast.BinOp(left=left, right=right):
            yield from _type_names(module, left)
            yield from _type_names(module, right)


def _definition(module: str, name: str) -> tuple[str, str]:
    """Return the module of this package that defines what `name` means in `module`."""
    source = _source(module)
    while name not in source.classes and name in source.modules:
        module = source.modules[name]
        source = _source(module)
    return module, name


@functools.cache
def _source(module: str) -> _Source:
    spec = find_spec(module)
    return _parsed(None if spec is None else spec.origin)


@functools.cache
def _parsed(file: str | None) -> _Source:
    source = _Source({}, {}, {})
    if file is None or not Path(file).is_file():
        return source
    for node in ast.parse(Path(file).read_text("utf-8")).body:
        match node:
            case ast.ClassDef(name=name):
                source.classes[name] = node
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                source.aliases[name] = value
            case ast.ImportFrom(module=str(module)) if module.startswith("ambulo."):
                source.modules.update((a.asname or a.name, module) for a in node.names)
    return source


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr, str]]:
    """Yield name, annotation and docstring of the fields of a class."""
    for line, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            match after:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield line.target.id, line.annotation, inspect.cleandoc(text)
                case _:
                    yield line.target.id, line.annotation, ""
