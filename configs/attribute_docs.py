"""The docstrings under the fields of a class, read from its source file."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from pathlib import Path


@functools.cache
def attribute_docs(owner: type) -> dict[str, str]:
    """Return the docstring under each field of a class and of its bases, by field."""
    docs: dict[str, str] = {}
    for kind in reversed(owner.__mro__):
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        if file is not None:
            docs |= _docs_of_file(file).get(kind.__qualname__, {})
    return docs


@functools.cache
def _docs_of_file(file: str) -> dict[str, dict[str, str]]:
    """Return the docstrings in a file by class and field."""
    if not Path(file).is_file():
        return {}
    tree = ast.parse(Path(file).read_text("utf-8"))
    return {
        node.name: _docs_of_class(node)
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }


def _docs_of_class(node: ast.ClassDef) -> dict[str, str]:
    docs = {}
    for line, after in zip(node.body, node.body[1:], strict=False):
        match line, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                docs[name] = inspect.cleandoc(text)
    return docs
