"""Compiled geometry that levels and worlds share: prisms, solids, triangles, rays."""

import ambulo.envs.compiling  # noqa: F401 - logs when kernels are recompiled
