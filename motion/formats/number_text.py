"""Tables of decimal numbers in text, read at compiled speed and correctly rounded.

A number whose digits fit 2^53 and whose power of ten lies within 10^22 is one exact product or
quotient of two doubles (W. D. Clinger, PLDI 1990); all others are left to Python's `float`. So
every value is the double nearest to the text. NaN, infinity, hexadecimal numbers, underscores
and commas are refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.motion.formats.number_kernels import (
    BEFORE_END,
    DONE,
    FEW,
    FULL,
    JUNK,
    MANY,
    MAX_VALUE,
    MISSING,
    NAME,
    TWICE,
    read_frames,
    read_table,
)

_SLOW = 1 << 15  # numbers recorded for `float` before they are converted


class NumberTextError(Exception):
    """Text that breaks a rule: `line` from 1, and `rule`.

    If only the number of rows is wrong, `more` is the largest possible number of further rows,
    else 0.
    """

    def __init__(self, line: int, rule: str, more: int = 0) -> None:
        super().__init__(rule)
        self.line = line
        self.rule = rule
        self.more = more


@dataclass(frozen=True)
class NamedRows:
    """Result of `parse_frames`."""

    first: int
    """Number of the first frame."""
    values: Floats
    """All numbers of each frame, in the order of the layout. Shape (T, C)."""


def parse_table(data: bytes, start: int, line: int, rows: int, columns: int) -> Floats:
    """The `rows` lines of `columns` numbers each from byte `start` on. Shape (T, C).

    `line` is the number of the line at `start`. Empty lines do not count; anything but space
    after the last row is an error. A number needs 8 bytes of memory and at least two bytes of
    text: the caller compares `rows` with the file's size.
    """
    buffer = np.frombuffer(data, dtype=np.uint8)
    values = np.empty((rows, columns))
    slow = np.empty((_SLOW, 3), dtype=np.int64)
    state = np.array([start, line, 0, 0, 0, 0], dtype=np.int64)
    while True:
        code = int(read_table(buffer, values, slow, state))
        _settle(data, slow[: state[5]], values, state)
        if code != FULL:
            break
    at, where, row, column = (int(v) for v in state[:4])
    if code == DONE:
        return values
    if code == JUNK:
        raise NumberTextError(where, not_a_number(data, at))
    if code == FEW:
        raise NumberTextError(where, f"has {column} numbers; expected {columns}")
    if code == MANY:
        raise NumberTextError(where, f"has more than {columns} numbers")
    if code == BEFORE_END:
        rule = f"the file ends after {row} of {rows} frames"
        raise NumberTextError(where, rule, row - rows)
    rule = f"there is more text after the last of {rows} frames"
    raise NumberTextError(where, rule, 1)


def parse_frames(
    data: bytes, start: int, line: int, names: list[bytes], counts: list[int]
) -> NamedRows:
    """Parse all frames from byte `start` on: a frame number, then one named row a joint.

    Every frame has each of `names` once, in any order, with as many numbers as in `counts`;
    frame numbers increase by one.
    """
    buffer = np.frombuffer(data, dtype=np.uint8)
    shortest = sum(len(n) + 2 * c + 1 for n, c in zip(names, counts, strict=True)) + 2
    capacity = (len(data) - start) // shortest + 2
    width = sum(counts)
    values = np.empty((capacity, width))
    slow = np.empty((_SLOW, 3), dtype=np.int64)
    state = np.array([start, line, 0, 0, 0, 0, 0, -1], dtype=np.int64)
    seen = np.full(len(names), -1, dtype=np.int64)
    text = np.frombuffer(b"".join(names), dtype=np.uint8)
    ends = np.cumsum([len(name) for name in names]).astype(np.int64)
    stops = np.cumsum(counts).astype(np.int64)
    while True:
        code = int(read_frames(buffer, values, slow, state, text, ends, stops, seen))
        _settle(data, slow[: state[5]], values, state)
        if code != FULL:
            break
    if code != DONE:
        raise _frames_error(data, code, state, names, counts, seen)
    return NamedRows(int(state[6]), values[: state[2]].copy())


def parse_number(text: str) -> float:
    """One finite number from plain decimal text; `ValueError` for anything else."""
    plain = text.isascii() and not set(text) - set("0123456789+-.eE")
    if not plain:
        raise ValueError(f"{_shown(text)} is not a number")
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{_shown(text)} is not a number") from None
    if not abs(value) <= MAX_VALUE:
        raise ValueError(f"{_shown(text)} is beyond {MAX_VALUE:g}")
    return value


def not_a_number(data: bytes, at: int) -> str:
    """Message about the invalid number at byte `at`."""
    token = data[at : at + 64].split(None, 1)
    text = (token[0] if token else b"").decode("ascii", "backslashreplace")
    try:
        parse_number(text)
    except ValueError as error:
        return str(error)
    return f"{_shown(text)} is not a number"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 24 else text[:21] + "...")


def _settle(data: bytes, slow: Ints, values: Floats, state: Ints) -> None:
    """Convert the numbers that the compiled loop has left to Python."""
    if not len(slow):
        return
    positions, starts, stops = slow.T.tolist()
    numbers = np.array(
        [float(data[a:b]) for a, b in zip(starts, stops, strict=True)], dtype=np.float64
    )
    if not (np.abs(numbers) <= MAX_VALUE).all():
        bad = starts[int(np.argmin(np.abs(numbers) <= MAX_VALUE))]
        # The loop is further on; count back to the line of the number.
        line = int(state[1]) - data.count(b"\n", bad, int(state[0]))
        raise NumberTextError(line, not_a_number(data, bad))
    values.reshape(-1)[positions] = numbers


def _frames_error(
    data: bytes,
    code: int,
    state: Ints,
    names: list[bytes],
    counts: list[int],
    seen: Ints,
) -> NumberTextError:
    at, line, frame, bone = int(state[0]), int(state[1]), int(state[2]), int(state[3])
    number = int(state[6]) + frame
    if code == JUNK:
        return NumberTextError(line, not_a_number(data, at))
    if code == NAME:
        token = data[at : at + 64].split(None, 1)[0].decode("utf-8", "backslashreplace")
        return NumberTextError(
            line, f"{_shown(token)} is not a bone of the first frame"
        )
    if code in {FEW, MANY, TWICE}:
        name = names[bone].decode("utf-8", "backslashreplace")
        if code == TWICE:
            return NumberTextError(line, f"bone {name!r} comes twice in frame {number}")
        word = "fewer" if code == FEW else "more"
        return NumberTextError(line, f"{name!r} has {word} than {counts[bone]} numbers")
    if code == MISSING:
        lost = names[int(np.argmin(seen == frame))].decode("utf-8", "backslashreplace")
        return NumberTextError(line, f"frame {number} ends without bone {lost!r}")
    return NumberTextError(line, f"expected a line with the frame number {number}")
