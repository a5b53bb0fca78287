"""Evaluation of muscle networks."""
