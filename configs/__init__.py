"""What can be chosen: typed configuration, presets and curricula. Imports nothing of ours."""
