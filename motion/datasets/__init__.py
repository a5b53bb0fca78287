"""Data sets: labelled clips, prepared states, splits, windows, streaming, curriculum."""
