"""Actions of `ambulo body`."""
