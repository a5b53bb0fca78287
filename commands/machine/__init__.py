"""Checks of `ambulo doctor`: packages, engines, caches and models of this machine."""
