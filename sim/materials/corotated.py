"""Linear co-rotated elasticity: Hooke's law in a frame that turns with each element.

Müller, Gross 2004, "Interactive Virtual Materials": the idea. Thesis on interactive co-rotational FEM, eqs. (3.14),
(3.15): energy and stress. Differs: nothing.

The fastest material, and the most forgiving when elements invert. Limitations: at large stretch it keeps volume less
well than neo-Hookean; a Poisson ratio above 0.45 makes coarse tets stiff.
"""

from dataclasses import dataclass

from jellycage.sim.materials import corotated_kernels
from jellycage.sim.materials.elastic import Elastic


@dataclass(frozen=True, eq=False)
class Corotated(Elastic):
    """Linear co-rotated elasticity."""

    name = "corotated"
    title = "Springy"
    sentence = "fast, and forgiving where elements invert"
    kernels = corotated_kernels

    def parameters(self):
        """(mu, lambda) [Pa]."""
        return self.lame()
