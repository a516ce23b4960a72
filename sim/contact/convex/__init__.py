"""Contact of convex shapes with each other and with meshes: distance, overlap, manifolds."""
