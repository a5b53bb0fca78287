"""From a clip to a reference motion that a simulated body can follow."""
