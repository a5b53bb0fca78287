"""Fixtures of this folder."""

from fixtures.bodies import *  # noqa: F403
