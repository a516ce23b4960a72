"""Pictures of meshes, without a window."""
