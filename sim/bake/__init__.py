"""Bakes: frames into a cache, and out of it into files."""
