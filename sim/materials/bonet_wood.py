"""Neo-Hookean elasticity as in Bonet, Wood 2008, "Nonlinear Continuum Mechanics for Finite Element Analysis".

Master's thesis on interactive FEM, eq. (5.25): psi = mu/2 (|F|^2 - 3) - mu ln J + lambda/2 (ln J)^2.
Differs: below J0 = 0.1 ln J goes on as its parabola at J0, so that energy and forces are finite, smooth to second order
and rising as elements are crushed and turn inside out.

Stiffens without bound as volume is lost and softens when stretched, where the stable form does neither so much.
"""

from dataclasses import dataclass

from jellycage.sim.materials import bonet_wood_kernels
from jellycage.sim.materials.elastic import Elastic


@dataclass(frozen=True, eq=False)
class BonetWood(Elastic):
    """Neo-Hookean elasticity with logarithms of the volume."""

    name = "bonet_wood"
    title = "Unyielding"
    sentence = "resists loss of volume without bound"
    kernels = bonet_wood_kernels

    def parameters(self):
        """(mu, lambda) [Pa]."""
        return self.lame()
