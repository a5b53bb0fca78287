"""The actions of `ambulo data`."""
