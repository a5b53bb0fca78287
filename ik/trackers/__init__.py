"""A whole body from trackers: headset, controllers, and optional hips and feet."""
