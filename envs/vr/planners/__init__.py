"""Classical planners as baselines of agents."""
