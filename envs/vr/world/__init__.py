"""Worlds of VR navigation: the compiled one and the MuJoCo one."""
