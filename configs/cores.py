"""Number of processors that this process may use."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Number of processors that this process may use, at least 1, on every system."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
