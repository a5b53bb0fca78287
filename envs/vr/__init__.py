"""VR navigation: worlds, levels, observation, reward and the environments."""
