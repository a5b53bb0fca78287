"""Model files: one format, one module for each kind of model."""
