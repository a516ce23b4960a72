"""Characters in Blender: read from an armature, and back as an action."""
