"""Solid shapes: colliders and rigid bodies are made of them."""
