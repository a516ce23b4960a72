"""Numbers by which kernels tell shapes of rigid bodies, and edges of meshes, apart."""

CONVEX, PLANE = 0, 1  # a core with a radius; all below the xy plane of its body
CONVEX_EDGE, FLAT_EDGE, CONCAVE, OPEN_EDGE = 1, 0, -1, 2
LEAF = 4  # triangles in a leaf of a mesh's tree
