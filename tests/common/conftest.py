"""Fixtures of this folder."""

from fixtures.http_server import *  # noqa: F403
from fixtures.motion import *  # noqa: F403
