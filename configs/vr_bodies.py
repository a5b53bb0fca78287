"""Validation of settings that only some bodies support."""

from __future__ import annotations

from ambulo.configs.vr_actions import NavigationActionsConfig

USUAL_EYES = 1.6
"""Usual height of the head camera above the feet, [m]."""
REACHED = (0.35, 1.75)
"""Range of heights that a body can reach, from a crouch to upright, [m]."""
MOST_AGENTS = 256
"""Largest number of agents that share a level."""
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
    if world != "compiled":
        raise ValueError(
            f"agents = {agents}: they meet in world = compiled only, this is {world}"
        )
    if body != "capsule":
        raise ValueError(f"agents = {agents}: only capsules meet, this is {body}")


def check_rig(
    actions: NavigationActionsConfig, eye_height: float, body: str, *, needs_poses: bool
) -> None:
    """Raise `ValueError` for comfort options of the VR rig that `body` cannot have.

    Args:
        actions: Settings of the actions.
        eye_height: Height of the head camera, [m].
        body: Body of the agent.
        needs_poses: Whether observation or rewards need the pose of the body.
    """
    for name in ("snap_turn", "teleport"):
        if getattr(actions, name) is not None and body != "capsule":
            raise ValueError(f"actions.{name}: environment.body = {body} has legs")
    if eye_height == USUAL_EYES:
        return
    if body != "capsule":
        raise ValueError(
            f"environment.eye_height = {eye_height:g}: environment.body = {body} has the "
            "height of its character"
        )
    if needs_poses:
        raise ValueError(
            f"environment.eye_height = {eye_height:g}: rewards and observations of poses "
            f"have an avatar whose eyes are at {USUAL_EYES:g} m"
        )
