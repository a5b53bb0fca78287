"""Front doors: one file per command, and what they share."""
