"""The API reference, made of signatures and docstrings, without importing anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import griffe
from _markdown import cell, code_text, table

import ambulo

PACKAGES = ("configs", "motion", "ik", "rig_server", "muscle", "envs", "policies")
"""Subpackages with a page for each folder; the others are parts of commands."""
WIDTH = 88
"""A longer signature has one argument a line."""


def write(folder: Path, packages: Path) -> None:
    """Write api/index.md (the public interface) and a page for every folder of modules.

    Args:
        folder: Of the site's pages.
        packages: Folder with the package's tree, as `tools/link_types.py` makes it.
    """
    pages = folder / "api"
    pages.mkdir()
    package = griffe.load(
        "ambulo", search_paths=[str(packages)], docstring_parser="google",
        allow_inspection=False,
    )  # fmt: skip
    assert isinstance(package, griffe.Module)
    rows = []
    for name in PACKAGES:
        for module in _packages(package.modules[name]):
            lines = list(_package(module))
            if len(lines) > 4:
                file = f"{module.path}.md"
                (pages / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
                rows.append((f"[`{module.path}`]({file})", _first_sentence(module)))
    interface = package.modules["api"]
    lines = ["# Python interface", "", "The names of `import ambulo`.", ""]
    for name in ambulo.__all__:
        if name in interface.members:
            lines += _member(interface.members[name], 2, f"ambulo.{name}")
    lines += ["## Modules", "", *table(("package", "what"), rows)]
    (pages / "index.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _packages(module: griffe.Module) -> Iterator[griffe.Module]:
    """Yield a package and the packages below it."""
    yield module
    for below in _modules(module):
        if below.is_init_module:
            yield from _packages(below)


def _modules(package: griffe.Module) -> list[griffe.Module]:
    """Return the modules right in a package, without those that it imports."""
    found = package.modules.values()
    return [module for module in found if not module.is_alias]


def _package(package: griffe.Module) -> Iterator[str]:
    """Yield the lines of a page: every module right in a folder."""
    yield f"# {package.path}"
    yield ""
    if package.docstring:
        yield _text(package.docstring.value)
        yield ""
    modules = [package, *(m for m in _modules(package) if not m.is_init_module)]
    for module in modules:
        members = [member for member in module.members.values() if _shown(member)]
        if not members or module.name.startswith("_"):
            continue
        if module is not package:
            yield f"## {module.name}"
            yield ""
            if module.docstring:
                yield _text(module.docstring.value)
                yield ""
        for member in members:
            yield from _member(member, 3, member.name)


def _shown(member: griffe.Object | griffe.Alias) -> bool:
    """Return whether a member is public, documented and made here."""
    return (
        not member.is_alias
        and not member.name.startswith("_")
        and not member.is_module
        and member.docstring is not None
    )


def _member(
    member: griffe.Object | griffe.Alias, level: int, name: str
) -> Iterator[str]:
    """Yield the lines on a class, function or constant."""
    yield f"{'#' * level} {name}"
    yield ""
    if isinstance(member, griffe.Function):
        yield from _code(_signature(member, name))
    elif isinstance(member, griffe.Attribute) and member.value is not None:
        value = str(member.value)
        if len(value) < WIDTH and "\n" not in value:
            yield from _code(f"{name} = {value}")
    yield from _docstring(member)
    if not isinstance(member, griffe.Class):
        return
    fields = [m for m in member.members.values() if _shown(m) and m.is_attribute]
    if fields:
        rows = [(f"`{f.name}`", f"`{_annotation(f)}`", _doc_line(f)) for f in fields]
        yield from table(("field", "type", "meaning"), rows)
        yield ""
    for method in member.members.values():
        if isinstance(method, griffe.Function) and _shown(method):
            yield from _code(_signature(method, f"{name}.{method.name}"))
            yield from _docstring(method)


def _docstring(member: griffe.Object | griffe.Alias) -> Iterator[str]:
    """Yield the sections of a docstring."""
    if member.docstring is None:
        return
    for section in member.docstring.parse("google", warnings=False):
        if section.kind is griffe.DocstringSectionKind.text:
            yield _text(section.value)
        elif section.kind is griffe.DocstringSectionKind.examples:
            yield from _examples(section)
        elif section.kind in _HEADS:
            heads = _HEADS[section.kind]
            yield from table(
                heads, [_row(entry, len(heads)) for entry in section.value]
            )
        elif section.kind is griffe.DocstringSectionKind.admonition:
            yield f"**{section.title}** {_text(str(section.value.description))}"
        yield ""


_HEADS = {
    griffe.DocstringSectionKind.parameters: ("argument", "meaning"),
    griffe.DocstringSectionKind.attributes: ("attribute", "meaning"),
    griffe.DocstringSectionKind.raises: ("raises", "when"),
    griffe.DocstringSectionKind.returns: ("returns",),
    griffe.DocstringSectionKind.yields: ("yields",),
}


def _row(entry: griffe.DocstringNamedElement, columns: int) -> tuple[str, ...]:
    """Return the row of an argument, an error or a result."""
    text = _cell(entry.description)
    if columns == 1:
        return (text,)
    return f"`{getattr(entry, 'name', None) or entry.annotation}`", text


def _examples(section: griffe.DocstringSection) -> Iterator[str]:
    """Yield examples as blocks."""
    for kind, text in section.value:
        if kind is griffe.DocstringSectionKind.examples:
            yield from _code(text)
        else:
            yield _text(text)


def _signature(function: griffe.Function, name: str) -> str:
    """Return the signature of a function, in one line or one line an argument."""
    parts: list[str] = []
    starred = False
    for parameter in function.parameters:
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is griffe.ParameterKind.keyword_only and not starred:
            parts.append("*")
            starred = True
        starred = starred or parameter.kind is griffe.ParameterKind.var_positional
        parts.append(_parameter(parameter))
    returns = "" if function.returns is None else f" -> {function.returns}"
    line = f"{name}({', '.join(parts)}){returns}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returns}"


def _parameter(parameter: griffe.Parameter) -> str:
    """Return an argument with its annotation and default."""
    stars = {"variadic positional": "*", "variadic keyword": "**"}
    kind = "" if parameter.kind is None else stars.get(parameter.kind.value, "")
    text = kind + parameter.name
    if parameter.annotation is not None:
        text += f": {parameter.annotation}"
    if parameter.default is not None and not kind:
        text += (
            f" = {parameter.default}"
            if parameter.annotation
            else f"={parameter.default}"
        )
    return text


def _annotation(member: griffe.Object | griffe.Alias) -> str:
    return cell(str(getattr(member, "annotation", None) or "")).replace("\\|", "/")


def _doc_line(member: griffe.Object | griffe.Alias) -> str:
    return "" if member.docstring is None else _cell(member.docstring.value)


def _first_sentence(module: griffe.Module) -> str:
    text = "" if module.docstring is None else code_text(module.docstring.value)
    return re.split(r"(?<=[.:;]) ", text)[0].rstrip(":;.") + "."


def _code(text: str) -> list[str]:
    return ["```python", text, "```", ""]


def _cell(text: str) -> str:
    return _text(code_text(text))


def _text(text: str) -> str:
    """Return docstring text as Markdown: what looks like HTML or a link is plain text."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [
        re.sub(r"([<\[*])", lambda m: {"<": "&lt;"}.get(m[1], f"\\{m[1]}"), part)
        for part in parts[::2]
    ]
    return "".join(parts)
