"""Sizes that are more likely a mistake of units than meant."""

import numpy as np
from numpy.typing import ArrayLike

LARGEST, SMALLEST = 100.0, 1e-3
"""Longest sides [m] beyond which a body is unlikely: few soft things outgrow a whale, or a grain of sand."""


def size_notes(vertices: ArrayLike) -> tuple[str, ...]:
    """A sentence, with a remedy, if a body with these vertices (n, 3) [m] is unlikely large or small; or none."""
    length = float(np.ptp(vertices, axis=0).max()) if len(vertices) else 0.0
    if length > LARGEST:
        return (
            f"It is {length:.4g} m long: in millimetres? Scale it by 0.001 "
            '(--input-scale 0.001; in a scene units = "mm"), or by 0.01 if in centimetres.',
        )
    if 0.0 < length < SMALLEST:
        return (
            f"It is {length:.4g} m long: scaled down once too often? Scale it by 1000 "
            "(--input-scale 1000; in a scene units = 1000).",
        )
    return ()
