"""Soft bodies: cage, elements, elasticity, pins and loads."""
