"""Settings of the task `track_body`: trackers, poses, and how they are followed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ambulo.configs.base import Config
from ambulo.configs.types import Fraction, NonNegative


class TrackBodyConfig(Config):
    """Trackers, the network that turns them into poses, and how these poses are followed."""

    points: Literal[3, 4, 5, 6] = 3
    """Trackers: head and hands (3), with hips (4), with feet (5), with both (6)."""
    tracker_noise: NonNegative = 0.0
    """Standard deviation of noise on the trackers' positions along each axis, [m]; rotations
    have 3 rad of noise for each metre of it."""
    tracker_network: str = "ik_trackers"
    """The body tracker: a shipped one by name, or its model file."""
    pose_delay: Annotated[int, Field(ge=0, le=30)] = 0
    """Control steps by which the body is behind the newest pose after a step."""
    foresight: NonNegative = 0.0
    """Time over which the newest pose is extrapolated with its velocity for observed poses that
    are not known yet, [s]; 0: the newest pose is repeated."""
    support: Fraction = 0.0
    """Largest external force at the root that pulls it to the reference, in body weights
    (`ambulo.envs.tasks.track_body.follower`); 0: gravity and the ground alone."""
