"""Common parts of all locomotion tasks: batch, state, observation, reward."""
