"""Contact of a body's visible surface with the world: where it touches, and what the touch does."""
