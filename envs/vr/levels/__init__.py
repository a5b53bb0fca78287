"""Levels of VR navigation: data, files, checks and walking distances."""
