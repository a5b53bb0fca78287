"""The lines of an ASF file: words, numbers and limits, with their errors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from ambulo.configs.errors import MotionFileError
from ambulo.motion.formats.axes import Vec3
from ambulo.motion.formats.disk import read_text
from ambulo.motion.formats.number_text import parse_number

MAX_BYTES = 2**24
"""Largest accepted skeleton file, [bytes]."""
_PAIR = re.compile(r"\(\s*([^()\s,]+)[\s,]+([^()\s,]+)\s*\)")


@dataclass(frozen=True)
class Line:
    """One line that is neither empty nor a comment."""

    number: int
    """Its number in the file, from 1."""
    text: str
    """Its text without surrounding space."""
    words: tuple[str, ...]
    """Its words, at least one."""


class Lines:
    """The lines of a file, read in order."""

    def __init__(self, path: Path, lines: list[Line]) -> None:
        self.path = path
        self._lines = lines
        self._at = 0

    def __bool__(self) -> bool:
        """Whether lines are left."""
        return self._at < len(self._lines)

    def fail(self, number: int, rule: str) -> NoReturn:
        """Raise the `MotionFileError` of a line."""
        raise MotionFileError(self.path, number, rule)

    def peek(self) -> Line:
        """The next line, without consuming it."""
        return self._lines[self._at]

    def next(self, expected: str = "a section") -> Line:
        """The next line."""
        if not self:
            last = self._lines[-1].number if self._lines else 0
            self.fail(last, f"the file ends where {expected} is expected")
        self._at += 1
        return self._lines[self._at - 1]

    def section(self) -> list[Line]:
        """All lines up to the next section."""
        begin = self._at
        while self and not self._lines[self._at].words[0].startswith(":"):
            self._at += 1
        return self._lines[begin : self._at]

    def word(self, line: Line) -> str:
        """The word after the keyword."""
        if len(line.words) < 2:
            self.fail(line.number, f"{line.words[0]!r} has no value")
        return line.words[1]

    def numbers(self, line: Line, count: int) -> list[float]:
        """The `count` numbers after the keyword."""
        words = line.words[1 : count + 1]
        if len(words) < count:
            rule = f"{line.words[0][:24]!r} has {len(words)} numbers; expected {count}"
            self.fail(line.number, rule)
        try:
            return [parse_number(word) for word in words]
        except ValueError as error:
            self.fail(line.number, str(error))

    def vector(self, line: Line) -> Vec3:
        """The three numbers after the keyword."""
        x, y, z = self.numbers(line, 3)
        return x, y, z

    def letters(self, line: Line, word: str) -> str:
        """An order of the three axes."""
        if sorted(word.upper()) != ["X", "Y", "Z"]:
            rule = f"expected an order of X, Y and Z, got {word[:24]!r}"
            self.fail(line.number, rule)
        return word.upper()

    def pairs(self, line: Line) -> list[tuple[float, float]]:
        """The limits in brackets; "inf" and "-inf" are no limit."""
        result = _PAIR.findall(line.text)
        if not result:
            self.fail(line.number, "expected limits such as (-90 90)")
        return [
            (self._limit(line, low), self._limit(line, high)) for low, high in result
        ]

    def _limit(self, line: Line, word: str) -> float:
        if word.lower() in {"inf", "+inf", "-inf"}:
            return float(word)
        try:
            return parse_number(word)
        except ValueError as error:
            self.fail(line.number, str(error))


def asf_lines(path: Path) -> Lines:
    """The lines of the ASF file `path`, without comments (from # on)."""
    lines = []
    for number, raw in enumerate(read_text(path, MAX_BYTES).split("\n"), start=1):
        text = raw.partition("#")[0].strip()
        if text:
            lines.append(Line(number, text, tuple(text.split())))
    return Lines(path, lines)
