"""Neural networks of policies and models."""
