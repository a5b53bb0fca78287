"""The `ambulo` command: a table of sub-commands, each loaded only when it is called."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pkgutil import resolve_name

import ambulo
from ambulo.command_table import ALIASES, AMBULO, TRAIN, Row
from ambulo.common.errors import USER_ERROR, Parser, cli_entry_point


def main(argv: Sequence[str] | None = None) -> int:
    """Run a sub-command; return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and arguments[0] in ALIASES:
        arguments = ["train", ALIASES[arguments[0]], *arguments[1:]]
    row, words = AMBULO, ["ambulo"]
    while row.rows:
        if row is TRAIN and arguments and _is_flag_of_vr(arguments[0]):
            arguments = ["vr", *arguments]
        if not arguments or arguments[0].startswith("-"):
            return _show_help(row, words, arguments)
        name = arguments.pop(0)
        if name not in row.rows:
            _group_parser(row, words).error(unknown(row, name))
        row, words = row.rows[name], [*words, name]
    return run(row.target, arguments)


def unknown(row: Row, name: str) -> str:
    """Return the error of a name that a group of commands does not have."""
    from ambulo.configs.errors import nearest
    from ambulo.configs.task_registry import task_names

    for group, inner in AMBULO.rows.items():
        if name in inner.rows and inner is not row:
            return f"unknown {row.kind} {name!r}: write ambulo {group} {name}"
    if row is TRAIN and (name in task_names() or name.endswith(".py")):
        return f"{name} is a task: write ambulo train walk --task {name}"
    return f"unknown {row.kind} {name!r}{nearest(name, row.rows)}"


def run(target: str, arguments: Sequence[str]) -> int:
    """Load and run the command `module:attribute`; return its exit code."""

    def loaded(words: Sequence[str] | None) -> int:
        command: Callable[[Sequence[str] | None], int] = resolve_name(target)
        return command(words)

    return cli_entry_point(loaded)(arguments)


def _is_flag_of_vr(argument: str) -> bool:
    """Return whether `ambulo train` begins with a flag, which is then one of `vr`."""
    return argument.startswith("-") and argument not in ("-h", "--help")


def _show_help(row: Row, words: Sequence[str], arguments: Sequence[str]) -> int:
    """Print the commands of a group; return the exit code, 2 where none was named."""
    parser = _group_parser(row, words)
    parser.parse_args(arguments)
    if row not in (AMBULO, TRAIN):
        parser.error(f"the following arguments are required: {row.word}")
    parser.print_help(sys.stderr)
    return USER_ERROR


def _group_parser(row: Row, words: Sequence[str]) -> Parser:
    """Return a parser for help alone; commands parse their own arguments."""
    program, width = " ".join(words), 2 + max(14, *map(len, row.rows))
    rows = "\n".join(f"  {name:<{width}} {one.line}" for name, one in row.rows.items())
    heading = {AMBULO.kind: "commands", TRAIN.kind: "kinds"}.get(row.kind, "actions")
    ends = [f"`{program} {row.word} --help` lists its flags.", row.epilog]
    parser = Parser(
        prog=program,
        usage=f"{program} {row.word} [ARGUMENT ...]",
        description=row.description,
        epilog="\n\n".join([f"{heading}:\n{rows}", *filter(None, ends)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if row is AMBULO:
        version = f"ambulo {ambulo.__version__}"
        parser.add_argument("--version", action="version", version=version)
    return parser


if __name__ == "__main__":
    sys.exit(main())
