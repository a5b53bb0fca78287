"""Shapes of the weights in a model file, read before the weights and without torch."""

from __future__ import annotations

import math

from ambulo.configs.errors import ModelFileError
from ambulo.policies.files.archive import Archive, parse_json
from ambulo.policies.files.headers import Shapes

MAX_NAMES = 2**20
"""Longest list of tensors in a file, [bytes]."""


def stored_shapes(archive: Archive, name: str) -> Shapes:
    """Return the shapes of the float32 tensors that a member declares, by name.

    Raises:
        ModelFileError: No such member, damaged, another type, or another size than
            these tensors have.
    """
    source = f"{archive.source}: {name}"
    if name not in archive:
        raise ModelFileError(f"{archive.source}: no {name} inside")
    length = int.from_bytes(archive.start(name, 8), "little")
    if length > MAX_NAMES:
        raise ModelFileError(f"{source}: its list of tensors has {length} bytes")
    rows = parse_json(archive.start(name, 8 + length)[8:], source)
    shapes: dict[str, tuple[int, ...]] = {}
    for key, row in rows.items() if isinstance(rows, dict) else ():
        if key == "__metadata__":
            continue
        dtype, shape = (
            (row.get("dtype"), row.get("shape"))
            if isinstance(row, dict)
            else (None, None)
        )
        if dtype != "F32":
            raise ModelFileError(f"{source}: weight {key!r} is {dtype}, expected F32")
        if not isinstance(shape, list) or not all(
            type(n) is int and n >= 0 for n in shape
        ):
            raise ModelFileError(f"{source}: weight {key!r} has no shape")
        shapes[key] = tuple(shape)
    expected = 8 + length + 4 * sum(math.prod(shape) for shape in shapes.values())
    if expected != archive.size(name):
        raise ModelFileError(
            f"{source}: has {archive.size(name)} bytes, its tensors need {expected}"
        )
    return shapes


def check_shapes(shapes: Shapes, expected: Shapes, source: str) -> None:
    """Refuse weights of other names or shapes than `expected`."""
    for name in sorted(shapes.keys() | expected.keys()):
        if name not in shapes:
            raise ModelFileError(f"{source}: weight {name!r} is missing")
        if name not in expected:
            raise ModelFileError(f"{source}: unexpected weight {name!r}")
        if shapes[name] != expected[name]:
            raise ModelFileError(
                f"{source}: weight {name!r} has shape {shapes[name]}, "
                f"expected {expected[name]}"
            )
