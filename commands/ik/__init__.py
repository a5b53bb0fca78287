"""The actions of `ambulo ik`."""
