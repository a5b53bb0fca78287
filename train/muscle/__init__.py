"""Training of muscle networks."""
