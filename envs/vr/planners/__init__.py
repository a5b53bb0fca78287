"""Classical planners that agents are compared with."""
