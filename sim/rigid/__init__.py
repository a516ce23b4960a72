"""Rigid bodies and what holds them together."""
