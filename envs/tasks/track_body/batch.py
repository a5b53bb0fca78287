"""Track body: a body under gravity follows a player's head, hands and further trackers."""

from __future__ import annotations

from typing import Any

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.tasks.track_body.poses import TrackBodyBatch
from ambulo.envs.tasks.track_body.walker import WalkingBodyBatch

AnyTrackBody = TrackBodyBatch | WalkingBodyBatch
"""Bodies that follow trackers."""


def track_body(config: LocomotionConfig, *args: Any, **kwargs: Any) -> AnyTrackBody:
    """Bodies whose legs are those of a walker, or follow the poses (`environment.legs`)."""
    walks = config.environment.legs == "walker"
    make = WalkingBodyBatch if walks else TrackBodyBatch
    return make(config, *args, **kwargs)


BATCH = track_body
