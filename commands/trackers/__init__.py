"""What `ambulo track-server` is made of."""
