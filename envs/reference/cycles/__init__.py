"""From a clip, or from nothing, to a cycle that a body can repeat."""
