"""Settings of the task `track_body`: what the trackers of a player say."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ambulo.configs.base import Config
from ambulo.configs.types import NonNegative


class TrackBodyConfig(Config):
    """Trackers, the network that makes poses of them, and how these poses are followed."""

    points: Literal[3, 4, 5, 6] = 3
    """Trackers: head and hands (3), with hips (4), with feet (5), with both (6)."""
    tracker_noise: NonNegative = 0.0
    """Standard deviation of the trackers' positions along each axis, [m]; rotations shake by
    3 rad for each metre of it."""
    tracker_network: str = "ik_trackers"
    """The body tracker: a shipped one by name, or its model file."""
    pose_delay: Annotated[int, Field(ge=0, le=30)] = 0
    """Control steps that the body is behind the newest pose after a step."""
    foresight: NonNegative = 0.0
    """Time over which the newest pose goes on with its velocity where poses are shown that
    are not known yet, [s]; 0: the newest pose stands in for them."""
    support: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Largest outside force at the root that holds it on what is followed, over body weight
    (`ambulo.envs.tasks.track_body.follower`); 0: gravity and the ground alone."""
