"""Stages of `ambulo play` and `ambulo watch`: one for each kind of model."""
