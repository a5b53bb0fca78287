"""Errors of commands: one line and exit code 2 if the user can fix them."""

from __future__ import annotations

import argparse
import functools
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ambulo.common.extras import missing_package
from ambulo.configs.errors import AmbuloError, nearest

Main = Callable[[Sequence[str] | None], int]
MainWithDefault = Callable[..., int]

USER_ERROR = 2
"""Exit code of bad input and of faults of the machine; the same as argparse's."""
INTERRUPTED = 130
"""Exit code after Ctrl-C (128 + SIGINT), as in shells."""


class Parser(argparse.ArgumentParser):
    """An argument parser with one-line errors, like all other errors."""

    taken = ""
    """Hint of an error about a missing argument: the flag that took it as its value."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is none of the choices, and name the nearest."""
        if action.choices is not None and value not in action.choices:
            hint = nearest(str(value), map(str, action.choices))
            raise argparse.ArgumentError(action, f"unknown {value!r}{hint}")

    def error(self, message: str) -> NoReturn:
        """Exit with `message` and exit code 2."""
        if "arguments are required" in message:
            message += self.taken
        self.exit(USER_ERROR, f"ambulo: error: {message} (--help tells more)\n")


def cli_entry_point(main: Main) -> MainWithDefault:
    """Wrap a command's `main(argv) -> exit code`.

    `AmbuloError`, `OSError` (full disk, read-only folder) and `MemoryError` become
    `ambulo: error: ...` on stderr and exit code 2; `--verbose` shows the traceback too.
    """

    @functools.wraps(main)
    def run(argv: Sequence[str] | None = None) -> int:
        arguments = list(sys.argv[1:] if argv is None else argv)
        try:
            return main(arguments)
        except KeyboardInterrupt:
            print("ambulo: interrupted", file=sys.stderr)
            return INTERRUPTED
        except BrokenPipeError:
            # The reader of a pipe has closed it; keep Python from complaining at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except ImportError as error:
            missing = missing_package(error)
            if missing is None:
                raise
            return _reported(missing, arguments)
        except (AmbuloError, OSError, MemoryError) as error:
            return _reported(error, arguments)
        except (ValueError, RuntimeError) as error:
            if not any(text in str(error) for text in _TOO_LARGE):
                raise
            return _reported(MemoryError(str(error).splitlines()[0][:200]), arguments)

    return run


def _reported(error: BaseException, arguments: Sequence[str]) -> int:
    """Print the error as one line; return the exit code."""
    if "--verbose" in arguments:
        traceback.print_exc()
    print_error(error)
    return USER_ERROR


def print_error(error: BaseException) -> None:
    """Print an error as one line on stderr."""
    print(f"ambulo: error: {one_line(error)}", file=sys.stderr)


_TOO_LARGE = (
    "array is too big",
    "Maximum allowed dimension exceeded",
    "can't allocate memory",
    "not enough memory",
    "Storage size calculation overflowed",
)
"""Beginnings of errors of NumPy and torch for arrays that do not fit in memory, in addition to
`MemoryError`."""


def one_line(error: BaseException) -> str:
    """Return the error as one line without a traceback."""
    if isinstance(error, MemoryError):
        text = f"out of memory ({error})" if str(error) else "out of memory"
        return " ".join(f"{text}; try fewer environments or levels".split())
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return " ".join(f"{where}{error.strerror}".split())
    return " ".join(str(error).split()) or type(error).__name__
