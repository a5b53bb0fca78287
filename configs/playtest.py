"""Size of the parts of a floor that play-tests report."""

MIN_AREA = 0.3
"""Unreachable parts with less floor are slivers: counted, not listed, [m^2]."""
