"""Parts of `ambulo track` and `ambulo track-server`."""
