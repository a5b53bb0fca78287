"""Compiled loops over the bytes of number tables; used by `ambulo.motion.formats.number_text`.

Each continues from a `state` and returns a code: done, the list of slow numbers is full, or the
broken rule.
"""

# ruff: noqa: PLR0912, PLR0915 - compiled loops over bytes are long

from __future__ import annotations

import numpy as np
from numba import njit

MAX_VALUE = 1e9
"""Largest accepted number: larger ones are no angle or position, so the file is damaged."""

DONE, FULL, JUNK, FEW, MANY, BEFORE_END = 0, 1, 2, 3, 4, 5
NAME, TWICE, MISSING, NUMBER = 6, 7, 8, 9

_POWERS = 10.0 ** np.arange(23)
_EXACT = 2**53
_DIGITS = 18  # most decimal digits that always fit an int64
_SPACE, _NEWLINE, _PLUS, _MINUS, _POINT, _ZERO, _NINE = 32, 10, 43, 45, 46, 48, 57


@njit(cache=True, inline="always")
def _is_space(byte):  # type: ignore[no-untyped-def]
    return byte == _SPACE or 9 <= byte <= 13


@njit(cache=True, inline="always")
def _skip_space(data, at, stop):  # type: ignore[no-untyped-def]
    """The next byte in the line that is no space, or the line's end."""
    while at < stop and _is_space(data[at]) and data[at] != _NEWLINE:
        at += 1
    return at


@njit(cache=True)
def _number(data, at, stop):  # type: ignore[no-untyped-def]
    """`(value, next byte, state)`: state 0 exact, 1 for `float`, 2 not a number."""
    negative = False
    if data[at] == _MINUS or data[at] == _PLUS:
        negative = data[at] == _MINUS
        at += 1
    mantissa = np.int64(0)
    exponent = np.int64(0)
    digits = 0
    some = False
    exact = True
    while at < stop and _ZERO <= data[at] <= _NINE:
        some = True
        if digits < _DIGITS:
            mantissa = mantissa * 10 + np.int64(data[at] - _ZERO)
            if mantissa > 0:
                digits += 1
        else:
            exact = False
        at += 1
    if at < stop and data[at] == _POINT:
        at += 1
        while at < stop and _ZERO <= data[at] <= _NINE:
            some = True
            if digits < _DIGITS:
                mantissa = mantissa * 10 + np.int64(data[at] - _ZERO)
                exponent -= 1
                if mantissa > 0:
                    digits += 1
            else:
                exact = False
            at += 1
    if not some:
        return 0.0, at, 2
    if at < stop and (data[at] == 101 or data[at] == 69):  # e, E
        at += 1
        down = False
        if at < stop and (data[at] == _MINUS or data[at] == _PLUS):
            down = data[at] == _MINUS
            at += 1
        power = np.int64(0)
        some = False
        while at < stop and _ZERO <= data[at] <= _NINE:
            some = True
            power = min(power * 10 + np.int64(data[at] - _ZERO), np.int64(99999))
            at += 1
        if not some:
            return 0.0, at, 2
        exponent += -power if down else power
    if at < stop and not _is_space(data[at]):
        return 0.0, at, 2
    if not exact or mantissa > _EXACT or exponent < -22 or exponent > 22:
        return 0.0, at, 1
    value = np.float64(mantissa)
    if exponent < 0:
        value /= _POWERS[-exponent]
    else:
        value *= _POWERS[exponent]
    if value > MAX_VALUE:
        return 0.0, at, 2
    return (-value if negative else value), at, 0


@njit(cache=True)
def _note(slow, noted, place, at, after):  # type: ignore[no-untyped-def]
    """Record the number [at, after) of `place` for Python; returns how many are recorded."""
    slow[noted, 0] = place
    slow[noted, 1] = at
    slow[noted, 2] = after
    return noted + 1


@njit(cache=True)
def read_table(data, values, slow, state):  # type: ignore[no-untyped-def]
    """Continue a table; `state` is byte, line, row, column, unused, slow numbers."""
    at, line, row, column = state[0], state[1], state[2], state[3]
    stop = len(data)
    rows, columns = values.shape
    noted = 0
    code = -1
    while code < 0:
        at = _skip_space(data, at, stop)
        if at >= stop or data[at] == _NEWLINE:
            if column == columns:
                row += 1
                column = 0
            elif column > 0:
                code = FEW
                break
            if at >= stop:
                code = DONE if row == rows else BEFORE_END
                break
            at += 1
            line += 1
            continue
        if row == rows:
            code = NUMBER
            break
        if column == columns:
            code = MANY
            break
        if noted == len(slow):
            code = FULL
            break
        value, after, kind = _number(data, at, stop)
        if kind == 2:
            code = JUNK
            break
        if kind == 1:
            noted = _note(slow, noted, row * columns + column, at, after)
        values[row, column] = value
        column += 1
        at = after
    state[0], state[1], state[2], state[3], state[5] = at, line, row, column, noted
    return code


@njit(cache=True)
def _same(data, at, after, text, begin, end):  # type: ignore[no-untyped-def]
    if after - at != end - begin:
        return False
    for i in range(end - begin):  # noqa: SIM110 - compiled
        if data[at + i] != text[begin + i]:
            return False
    return True


@njit(cache=True)
def _bone(data, at, after, text, ends, guess):  # type: ignore[no-untyped-def]
    """Index of the name at [at, after), trying `guess` first; -1 for none."""
    count = len(ends)
    for i in range(count):
        bone = (guess + i) % count
        begin = ends[bone - 1] if bone > 0 else 0
        if _same(data, at, after, text, begin, ends[bone]):
            return bone
    return -1


@njit(cache=True)
def read_frames(data, values, slow, state, text, ends, stops, seen):  # type: ignore[no-untyped-def]
    """Continue with frames.

    `state` is byte, line, frame, bone, bones so far, slow numbers, the first frame's number,
    and the bone that was read last (-1 before the first frame).
    """
    at, line, frame, bones, first = state[0], state[1], state[2], state[4], state[6]
    last = state[7]
    bone = np.int64(0)
    stop = len(data)
    count = len(ends)
    width = values.shape[1]
    noted = 0
    open_frame = last >= 0
    code = -1
    while code < 0:
        while at < stop and _is_space(data[at]):
            if data[at] == _NEWLINE:
                line += 1
            at += 1
        if at >= stop or _ZERO <= data[at] <= _NINE:
            if open_frame:
                if bones < count:
                    code = MISSING
                    break
                frame += 1
                bones = 0
            if at >= stop:
                code = DONE
                break
            number, after, kind = _number(data, at, stop)
            whole = kind == 0 and number == np.floor(number)
            if not open_frame and whole:
                first = np.int64(number)
            if not whole or np.int64(number) != first + frame or frame >= len(values):
                code = NUMBER
                break
            open_frame = True
            last = count - 1
            at = _skip_space(data, after, stop)
            if at < stop and data[at] != _NEWLINE:
                code = NUMBER
            continue
        if not open_frame:
            code = NUMBER
            break
        after = at
        while after < stop and not _is_space(data[after]):
            after += 1
        bone = _bone(data, at, after, text, ends, (last + 1) % count)
        if bone < 0:
            code = NAME
            break
        if seen[bone] == frame:
            code = TWICE
            break
        place = stops[bone - 1] if bone > 0 else 0
        if noted + stops[bone] - place > len(slow):
            code = FULL
            break
        at = after
        while True:
            at = _skip_space(data, at, stop)
            ended = at >= stop or data[at] == _NEWLINE
            if ended or place == stops[bone]:
                if place < stops[bone]:
                    code = FEW
                elif not ended:
                    code = MANY
                break
            value, after, kind = _number(data, at, stop)
            if kind == 2:
                code = JUNK
                break
            if kind == 1:
                noted = _note(slow, noted, frame * width + place, at, after)
            values[frame, place] = value
            place += 1
            at = after
        seen[bone] = frame
        bones += 1
        last = bone
    state[0], state[1], state[2], state[3], state[4] = at, line, frame, bone, bones
    state[5], state[6], state[7] = noted, first, last
    return code
