"""Scenes: what is in them, how files describe them, and how they are stepped."""
