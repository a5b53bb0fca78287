"""The pages of the command line, made of the parsers of the commands."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from _markdown import code_text, table

from ambulo.command_table import AMBULO
from ambulo.commands.completion import command_tree
from ambulo.configs.presets import preset_folders

_Subparsers = argparse._SubParsersAction


def write(folder: Path) -> None:
    """Write commands/index.md and a page for every command and kind of training."""
    pages = folder / "commands"
    pages.mkdir()
    tree = command_tree()
    rows = []
    for name, parser in _below(tree).items():
        meaning = AMBULO.rows[name].line
        rows.append((f"[`ambulo {name}`]({name}.md)", meaning))
        lines = [f"# ambulo {name}", "", f"{_sentence(meaning)}", ""]
        lines += _part(parser, f"ambulo {name}", 2)
        (pages / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    presets = [
        (f"`{kind}/{name}`", meaning)
        for kind, listed in preset_folders().items()
        for name, meaning in listed.items()
    ]
    lines = [
        "# Commands", "",
        *table(("command", "what"), rows), "",
        "## Presets", "",
        *table(("preset", "what"), presets),
    ]  # fmt: skip
    (pages / "index.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _part(parser: argparse.ArgumentParser, name: str, level: int) -> Iterator[str]:
    """Yield the lines on a parser and those below it."""
    if parser.description and level == 2:
        yield _escaped(parser.description)
        yield ""
    rows = [row for action in parser._actions for row in _rows(action)]
    if rows:
        yield from table(("argument", "meaning"), rows)
        yield ""
    for word, below in _below(parser).items():
        yield f"{'#' * level} {name} {word}"
        yield ""
        if below.description:
            yield _escaped(below.description)
            yield ""
        yield from _part(below, f"{name} {word}", level + 1)


def _rows(action: argparse.Action) -> Iterator[tuple[str, str]]:
    """Yield the row of an argument."""
    if isinstance(action, _Subparsers) or action.help == argparse.SUPPRESS:
        return
    metavar = action.metavar if isinstance(action.metavar, str) else None
    if action.option_strings:
        names = ", ".join(f"`{flag}`" for flag in action.option_strings)
        takes_value = action.nargs != 0
        value = f" `{metavar or _choices(action)}`" if takes_value else ""
        yield names + value, _help(action)
    else:
        yield f"`{metavar or _choices(action)}`", _help(action)


def _choices(action: argparse.Action) -> str:
    if action.choices is None:
        return action.dest.upper()
    return ", ".join(map(str, action.choices))


def _help(action: argparse.Action) -> str:
    """Return the help of an argument with its own values filled in."""
    text = action.help or ""
    return _escaped(text % {**vars(action), "prog": "ambulo"})


def _below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the sub-commands."""
    found = [a for a in parser._actions if isinstance(a, _Subparsers)]
    return dict(found[0].choices) if found else {}


def _escaped(text: str) -> str:
    """Return plain text as Markdown."""
    return code_text(text).replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
