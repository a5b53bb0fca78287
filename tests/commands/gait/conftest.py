"""Fixtures of this folder."""

from fixtures.gait_network import *  # noqa: F403
