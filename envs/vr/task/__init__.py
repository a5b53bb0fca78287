"""The VR-navigation task: levels, observation, reward, batch and environments."""
