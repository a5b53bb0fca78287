"""Fixtures of this folder."""

from fixtures.bodies import *  # noqa: F403
from fixtures.gait_bodies import *  # noqa: F403
from fixtures.motion import cmu  # noqa: F401
