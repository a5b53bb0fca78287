"""Fixtures of this folder."""

from fixtures.gait_data import *  # noqa: F403
