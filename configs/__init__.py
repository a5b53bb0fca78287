"""Typed configuration, presets and curricula. Imports nothing from other subpackages."""
