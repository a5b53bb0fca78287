"""Survey of the walkable floor of a level: parts, causes, moving things, bodies."""
