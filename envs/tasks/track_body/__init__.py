"""Bodies under gravity that follow a player's head, hands and further trackers."""
