"""Navigation with a partial map of several floors: from sensing to map, plan and velocity."""
