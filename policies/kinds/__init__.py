"""Kinds of model: each file describes one, as `SPEC`; the registry lists the folder."""
