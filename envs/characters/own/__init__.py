"""Own bodies: any humanoid in MJCF or URDF as a `Character` of the suite."""
