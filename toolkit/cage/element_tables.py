"""Corners and faces of tets and hexes, in the order of VTK."""

import numpy as np

CUBE_CORNERS = np.array(
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
)
"""Corners of a unit cube in the order of a hex, shape (8, 3)."""
TET_FACES = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])
"""Corners of the face across from each corner of a tet, counter-clockwise seen from outside, shape (4, 3)."""
HEX_FACES = np.array(
    [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]
)
"""Corners of each face of a hex, counter-clockwise seen from outside, shape (6, 4)."""
