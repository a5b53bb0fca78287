"""Names of the level families; `ambulo.envs.vr.families` has their functions in this order."""

from __future__ import annotations

ALL_FAMILIES: tuple[str, ...] = (
    "open", "pillars", "clutter", "rooms", "corridors", "slalom", "maze", "utrap", "pits",
    "mixed", "large", "furnished", "offices", "shops", "outdoor", "storeys", "crowd",
    "doors", "lifts",
)  # fmt: skip
"""Every family of the suite; new ones are appended: a family's index seeds its levels."""
