"""Array functions by type of array: NumPy's, or those of another array library."""

from __future__ import annotations

from typing import Any

import numpy as np

_COMPLETE = hasattr(np, "astype")
"""Whether this NumPy follows the array API standard; Blender's is older."""


def array_namespace(*arrays: Any) -> Any:
    """The namespace of `arrays` by the array API standard.

    It is NumPy for NumPy arrays. For others (torch tensors) or an old NumPy, the package
    array-api-compat of the training extra provides it.
    """
    if _COMPLETE and all(
        isinstance(array, np.ndarray | np.generic) for array in arrays
    ):
        return np
    import array_api_compat

    return array_api_compat.array_namespace(*arrays)


def device_of(array: Any) -> Any:
    """The device of `array`, as an argument of functions that create arrays."""
    if _COMPLETE and isinstance(array, np.ndarray | np.generic):
        return "cpu"
    import array_api_compat

    return array_api_compat.device(array)
