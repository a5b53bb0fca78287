"""Names of the array types that the whole suite uses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Array = Any
"""An array in compiled code, whose type numba infers; docstrings give its shape."""
