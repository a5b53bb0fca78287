"""Compiled geometry that levels and worlds share: prisms, solids, triangles, rays."""
