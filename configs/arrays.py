"""Names of the array types that the whole suite uses."""

from __future__ import annotations

import dataclasses
import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Array = Any
"""An array in compiled code, whose type numba infers; docstrings give its shape."""


def short_repr(data: Any) -> str:
    """Return a dataclass as text with the shapes of its arrays: a `__repr__`."""
    parts = []
    for field in dataclasses.fields(data):
        value = vars(data)[field.name]
        is_array = isinstance(value, np.ndarray)
        text = f"array{value.shape}" if is_array else reprlib.repr(value)
        parts.append(f"{field.name}={text}")
    return f"{type(data).__name__}({', '.join(parts)})"
