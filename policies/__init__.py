"""Networks, learners and safe model files."""
