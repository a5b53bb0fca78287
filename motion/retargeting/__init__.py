"""Retargeting of motions between skeletons."""
