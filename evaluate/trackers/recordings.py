"""Samples of trackers made of captured motions; see `ambulo.ik.trackers.tracks`."""

from __future__ import annotations

from ambulo.ik.trackers.tracks import POINTS, TURN_NOISE, TrackerTrack, track_of

__all__ = ["POINTS", "TURN_NOISE", "TrackerTrack", "track_of"]
