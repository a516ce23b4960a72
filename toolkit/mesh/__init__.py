"""Surface meshes as people have them: read, closed and split into shells."""
