"""Fixtures of this folder."""

from fixtures.poses import *  # noqa: F403
