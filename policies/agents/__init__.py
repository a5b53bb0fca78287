"""Models ready to use: what the loaders of `policies/kinds` give."""
