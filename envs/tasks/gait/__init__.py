"""The gait task: bodies and gaits given as parameters."""
