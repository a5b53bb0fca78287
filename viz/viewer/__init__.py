"""A viewer in the browser: its stages, clock, window and controls."""
