"""Walk as commanded, stop, stand, and keep the balance on contact with obstacles."""
