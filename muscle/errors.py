"""Errors of the muscle layer and of stable PD."""

from __future__ import annotations

from ambulo.configs.errors import AmbuloError


class MuscleError(AmbuloError):
    """A model, gain, target or network that the muscle layer cannot use."""
