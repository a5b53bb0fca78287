"""Image files in memory."""

from __future__ import annotations

import imageio.v2 as imageio
import numpy as np

from ambulo.envs.offscreen import Frame


def pixels(data: bytes) -> Frame:
    """Return the pixels of an image file, such as PNG, shape (height, width, 3)."""
    return np.asarray(imageio.imread(data), np.uint8)[..., :3]
