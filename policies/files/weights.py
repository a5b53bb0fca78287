"""The weights in a model file: shapes first, which the header says; without torch."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import safetensors

from ambulo.configs.errors import ModelFileError
from ambulo.policies.files.archive import Archive, parse_json
from ambulo.policies.files.headers import Header, Shapes, header_of

log = logging.getLogger(__name__)

POLICY = "policy.safetensors"
"""Member with the weights."""
DAMAGED_TENSORS = (
    safetensors.SafetensorError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
)
"""Errors of safetensors for a damaged file of tensors."""
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


def check_finite(weights: Mapping[str, Any], source: str) -> None:
    """Refuse weights, arrays or tensors of the CPU, that are NaN or infinite."""
    for name, values in weights.items():
        if not np.isfinite(np.asarray(values)).all():
            raise ModelFileError(f"{source}: weight {name!r} has values not finite")


def read_weights(
    archive: Archive, header: type[Header], decode: Callable[[bytes], dict[str, Any]]
) -> tuple[Header, dict[str, Any]]:
    """Return header and weights of an open model file, by their names.

    The header says which weights there must be, and which older ones are left out; nothing
    large is unpacked before the shapes in the file are these.

    Args:
        archive: The file.
        header: Class of the header that it must have.
        decode: `load` of `safetensors.numpy` or `safetensors.torch`.

    Raises:
        ModelFileError: Damaged, unsafe, newer, or of another kind.
    """
    source = archive.source
    metadata = header_of(header, archive)
    stored = stored_shapes(archive, POLICY)
    ignored = header.ignored_weights
    shapes = {k: shape for k, shape in stored.items() if not k.startswith(ignored)}
    check_shapes(shapes, metadata.weight_shapes(shapes, source), source)
    if len(shapes) < len(stored):
        log.info("%s: weights %s* are ignored", source, "*, ".join(ignored))
    try:
        tensors = decode(archive[POLICY])
    except DAMAGED_TENSORS as error:
        raise ModelFileError(f"{source}: {POLICY}: {error}") from None
    weights = {name: tensors[name] for name in tensors if name in shapes}
    check_finite(weights, source)
    return metadata, weights
