"""Fixtures of this folder."""

from fixtures.bodies import *  # noqa: F403
from fixtures.standing import *  # noqa: F403
