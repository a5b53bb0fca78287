"""Fixtures of tests of configurations."""

from __future__ import annotations

from fixtures.own_tasks import fresh, hop_file, install  # noqa: F401
