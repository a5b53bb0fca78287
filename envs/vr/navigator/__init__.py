"""Navigation with a partial map of several heights: senses to map, plan and velocity."""
