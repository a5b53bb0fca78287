"""Tables of results in a terminal or a log file, in one style and without truncated text."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

WIDEST = 10_000
"""Largest width of a table outside of a terminal, [characters]."""


def new_table(title: str = "") -> Table:
    """Return an empty table in the common style."""
    return Table(title=escape(title) or None, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))


def print_rows(
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    *,
    left: int = 1,
    bold: Sequence[bool] = (),
    console: Console | None = None,
) -> None:
    """Print rows of cells as a table.

    Args:
        title: Above the table.
        heads: Heading of each column.
        rows: Cells of each row; texts are printed as they are, without markup.
        left: Number of columns that are set left; numbers are set right.
        bold: Whether each row is bold (default: none).
        console: Where to print (default: standard output).
    """
    table = new_table(title)
    for place, head in enumerate(heads):
        table.add_column(escape(head), justify="left" if place < left else "right")
    for place, row in enumerate(rows):
        cells = [escape(cell) if isinstance(cell, str) else cell for cell in row]
        table.add_row(*cells, style="bold" if any(bold[place : place + 1]) else None)
    print_table(console or Console(highlight=False), table)


def print_table(console: Console, table: Table) -> None:
    """Print a table with all of its text.

    Files and pipes get its full width. In a narrower terminal, each row becomes its first cell
    with a line `heading: cell` for each of the others below.
    """
    options = console.options.update(width=WIDEST)
    width = console.measure(table, options=options).maximum
    if width > console.width and console.is_terminal:
        _print_lines(console, table)
        return
    console.width = max(width, console.width)
    console.print(table)


def _print_lines(console: Console, table: Table) -> None:
    """Print a table as lines that the terminal wraps."""
    console.print(table.title or "", style="italic", soft_wrap=True, highlight=False)
    heads = [column.header for column in table.columns]
    for row in zip(*(column.cells for column in table.columns), strict=True):
        console.print(row[0], style="bold", soft_wrap=True, highlight=False)
        for head, cell in zip(heads[1:], row[1:], strict=True):
            if cell:
                console.print(f"  {head}: {cell}", soft_wrap=True, highlight=False)
    console.print()
