"""The surface that collides: the detailed surface cut along the cage, in patches with trees, and queries on it."""
