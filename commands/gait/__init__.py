"""The actions of `ambulo gait`."""
