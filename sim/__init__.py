"""The simulator's chapter: bodies, materials, solvers, contact. Nothing is in it yet."""

__all__ = []
