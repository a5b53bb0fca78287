"""Walk as commanded, stop, stand, and stay up where things are touched."""
