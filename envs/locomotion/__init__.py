"""What all locomotion tasks share: batch, state, observation, reward."""
