"""The rules of settings that only some bodies can follow."""

from __future__ import annotations

REACHED = (0.35, 1.75)
"""Heights that a body can reach from a crouch and upright, [m]."""
MOST_AGENTS = 256
"""Agents that may share a level."""
_HANDS = 1.1
"""Height of a capsule's hands, [m]."""


def check_reach(heights: tuple[float, float], body: str) -> None:
    """Raise `ValueError` for a range of `heights` [m] that `body` cannot reach."""
    low, high = heights
    if not REACHED[0] <= low <= high <= REACHED[1]:
        raise ValueError(
            f"reach_height = [{low:g}, {high:g}] must be [min, max] within "
            f"{REACHED[0]:g} to {REACHED[1]:g} m"
        )
    if body == "capsule" and heights != (_HANDS, _HANDS):
        raise ValueError(
            f"reach_height = [{low:g}, {high:g}]: a capsule's hands are at {_HANDS} m; "
            "a body with legs crouches (body = human23 or twin)"
        )


def check_agents(agents: int, world: str, body: str) -> None:
    """Raise `ValueError` for several `agents` in a level where they cannot meet."""
    if agents == 1:
        return
    if world != "kernel":
        raise ValueError(
            f"agents = {agents}: they meet in world = kernel only, this is {world}"
        )
    if body != "capsule":
        raise ValueError(f"agents = {agents}: only capsules meet, this is {body}")
