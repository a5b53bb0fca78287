"""Fixtures of this folder."""

from fixtures.motion import *  # noqa: F403
