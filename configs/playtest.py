"""Limits of the faults of a level that passes its play-test."""

from __future__ import annotations

from dataclasses import dataclass

MIN_AREA = 0.3
"""Unreachable parts with less floor are slivers: counted, not listed, [m^2]."""


@dataclass(frozen=True)
class Limits:
    """Limits of the faults of a level that passes."""

    min_success: float = 0.8
    """Least fraction of journeys that reach their goal."""
    max_sealed: int = 0
    """Most sealed areas; some are meant, such as a roped-off exhibit."""
    max_stuck: int = 0
    """Most places where `STUCK_SHARE` of the agents are stuck."""
    min_coverage: float = 0.0
    """Least fraction of the reachable floor that paths come near to."""
