"""Gait cycles as data: JSON files of Fourier coefficients."""
