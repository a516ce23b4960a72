"""Quaternions, 3x3 matrices and values that change in time."""
