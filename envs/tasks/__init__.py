"""Locomotion tasks as batches and as Gymnasium environments."""
