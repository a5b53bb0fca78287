"""Damage to files and messages, the same for the same generator."""

from __future__ import annotations

import io
import json
import random
import zipfile
from typing import Any

NUMBERS = (
    0, -1, 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64, 10**30, 10**400, -(2**63),
    0.5, -0.0, 1e-300, 1e30, 1e308, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
"""Where programs count on the range of numbers."""
TEXTS = (
    "", "0", "5", "a" * 5000, "\ud800", "\0", "../../x", "9" * 5000, "1e999", "NaN",
    "%s%n", "ä\u202e", "\n", "[" * 2000, "__import__('os')", "http.server:test",
)  # fmt: skip
"""Where programs count on the shape of text."""


def damaged(rng: random.Random, data: bytes, ending: str) -> bytes:
    """Damage a file of the given ending, as its kind can be damaged."""
    if ending == ".json" or (
        ending in {".ambulo", ".safetensors"} and rng.random() < 0.6
    ):
        return _with_json(rng, data, ending)
    if ending in {".zip", ".npz"} and rng.random() < 0.7:
        return _with_member(rng, data)
    if ending in {".bvh", ".asf", ".amc", ".txt"} and rng.random() < 0.7:
        return _with_text(rng, data)
    return bytes_of(rng, data)


def bytes_of(rng: random.Random, data: bytes) -> bytes:
    """One to four changes of bytes: flipped, cut, doubled, moved, extreme numbers."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(made)) if made else 0
        if rng.random() < 0.5:  # where headers are
            at = min(at, rng.randrange(256))
        kind = rng.randrange(7)
        if kind == 0 and made:
            made[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del made[at:]
        elif kind == 2:
            del made[at : at + rng.randint(1, 64)]
        elif kind == 3:
            made[at:at] = made[at : at + rng.randint(1, 4096)]
        elif kind == 4:
            size = rng.choice((1, 2, 4, 8))
            made[at : at + size] = rng.choice(
                (b"\xff" * size, bytes(size), b"\xff" * (size - 1) + b"\x7f")
            )
        elif kind == 5:
            made[at:at] = rng.randbytes(rng.randint(1, 64))
        else:
            made += rng.randbytes(rng.randint(1, 4096))
    return bytes(made)


def json_of(rng: random.Random, value: Any) -> Any:
    """One or two changes of plain data: leaves, keys, lists, depth."""
    for _ in range(rng.randint(1, 2)):
        value = _changed(rng, json.loads(json.dumps(value)))
    return value


def leaf(rng: random.Random) -> Any:
    """A value that was not expected."""
    return rng.choice(
        (
            rng.choice(NUMBERS), rng.choice(TEXTS), None, True, [], {}, [[]],
            {"a": 1}, [1, "a", None], _nested(rng.choice((50, 200, 900))),
            [0.0] * rng.choice((3, 1000, 100_000)),
        )
    )  # fmt: skip


def text_of_json(rng: random.Random, value: Any) -> bytes:
    """Changed plain data as JSON text; now and then damaged as text, or too deep."""
    if rng.random() < 0.02:
        return b"[" * 100_000
    text = json.dumps(json_of(rng, value)).encode()
    return bytes_of(rng, text) if rng.random() < 0.1 else text


def _nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def _changed(rng: random.Random, value: Any) -> Any:
    """One change somewhere inside of `value`."""
    if isinstance(value, dict) and value:
        key = rng.choice(sorted(value))
        kind = rng.random()
        if kind < 0.7:
            value[key] = _changed(rng, value[key])
        elif kind < 0.8:
            del value[key]
        elif kind < 0.9:
            value[str(rng.choice(TEXTS))] = leaf(rng)
        else:
            value[key] = leaf(rng)
        return value
    if isinstance(value, list) and value:
        at = rng.randrange(len(value))
        kind = rng.random()
        if kind < 0.7:
            value[at] = _changed(rng, value[at])
        elif kind < 0.8:
            del value[at]
        elif kind < 0.9:
            value = value * rng.choice((2, 100))
        else:
            value[at] = leaf(rng)
        return value
    return leaf(rng)


def _with_json(rng: random.Random, data: bytes, ending: str) -> bytes:
    """Change the JSON in a file, and what says how long it is."""
    start = {".json": 0, ".ambulo": 12, ".safetensors": 8}[ending]
    size = len(data)
    if ending == ".ambulo":
        size = int.from_bytes(data[8:12], "little")
    if ending == ".safetensors":
        size = int.from_bytes(data[:8], "little")
    header = json.loads(data[start : start + size])
    inner = header.get("__metadata__", {}) if ending == ".safetensors" else {}
    names = [name for name, text in inner.items() if text.startswith("{")]
    if names and rng.random() < 0.7:
        name = rng.choice(sorted(names))
        changed = text_of_json(rng, json.loads(inner[name]))
        inner[name] = changed.decode(errors="replace")
        text = json.dumps(header).encode()
    else:
        text = text_of_json(rng, header)
    head = data[:start]
    if ending == ".ambulo":
        head = data[:8] + len(text).to_bytes(4, "little")
    if ending == ".safetensors":
        head = len(text).to_bytes(8, "little")
    return head + text + data[start + size :]


def _with_member(rng: random.Random, data: bytes) -> bytes:
    """Change a member of a zip file: its bytes or JSON, its name, its packing."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    small = [name for name in members if len(members[name]) < 100_000]
    name = rng.choice(sorted(small if small and rng.random() < 0.8 else members))
    kind = rng.random()
    if name.endswith(".json") and kind < 0.8:
        members[name] = text_of_json(rng, json.loads(members[name]))
    elif name.endswith("header.npy") and kind < 0.8:
        members[name] = _npy_of_json(rng, members[name])
    elif kind < 0.85:
        members[name] = bytes_of(rng, members[name])
    elif kind < 0.9:
        del members[name]
    elif kind < 0.95:
        members[str(rng.choice(TEXTS[5:8]))] = members[name]
    else:
        members[name] = bytes(rng.choice((10**5, 10**7)))
    packing = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for inner, content in members.items():
            archive.writestr(inner.replace("\0", "_"), content)
    return buffer.getvalue()


def _npy_of_json(rng: random.Random, data: bytes) -> bytes:
    """Change the JSON in an array of bytes, and its shape."""
    import numpy as np

    array = np.lib.format.read_array(io.BytesIO(data))
    text = text_of_json(rng, json.loads(array.tobytes()))
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.frombuffer(text, np.uint8))
    return buffer.getvalue()


def _with_text(rng: random.Random, data: bytes) -> bytes:
    """Change words and lines of a text file."""
    lines = data.split(b"\n")
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(lines))
        if rng.random() < 0.5:  # where headers are
            at = min(at, rng.randrange(60))
        words = lines[at].split()
        kind = rng.randrange(5)
        if kind == 0 and words:
            value = rng.choice((*NUMBERS, *TEXTS))
            shown = "1" + "0" * 400 if value == 10**400 else str(value)
            words[rng.randrange(len(words))] = shown.encode(errors="replace")
            lines[at] = b" ".join(words)
        elif kind == 1:
            del lines[at]
            lines = lines or [b""]
        elif kind == 2:
            lines[at:at] = [lines[at]] * rng.choice((1, 1000))
        elif kind == 3:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        elif words:
            lines[at] = b" ".join(words[:-1])
    return b"\n".join(lines)
