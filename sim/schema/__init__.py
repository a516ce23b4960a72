"""Tables of the keys of scene and character files: checks, messages and documentation."""
