"""Full-body pose from a few effectors: network, refinement, workers, layers."""
