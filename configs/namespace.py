"""The functions that go with an array: NumPy's, or those of another array library."""

from __future__ import annotations

from typing import Any

import numpy as np

_COMPLETE = hasattr(np, "astype")
"""Whether NumPy follows the array API standard by itself; Blender's is older."""


def array_namespace(*arrays: Any) -> Any:
    """The namespace of `arrays` by the array API standard.

    For NumPy's own arrays it is NumPy. For others (tensors of torch), or an old NumPy, the
    package array-api-compat finds it, which the training extra brings.
    """
    if _COMPLETE and all(
        isinstance(array, np.ndarray | np.generic) for array in arrays
    ):
        return np
    import array_api_compat

    return array_api_compat.array_namespace(*arrays)


def device_of(array: Any) -> Any:
    """The device that holds `array`, as functions that make arrays take it."""
    if _COMPLETE and isinstance(array, np.ndarray | np.generic):
        return "cpu"
    import array_api_compat

    return array_api_compat.device(array)
