"""A viewer in the browser: what is shown, its clock, its window and its controls."""
