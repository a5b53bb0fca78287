"""Actions: small generators of effector goals over time, which compose."""
