"""When a navigation agent is lost, and how well it knows it."""
