"""Stable neo-Hookean elasticity, log form.

Smith, de Goes, Kim 2018, "Stable Neo-Hookean Flesh Simulation", doi:10.1145/3180491, eq. (13):
psi = mu'/2 (I_C - 3) + lambda'/2 (J - alpha)^2 - mu'/2 log(I_C + delta), finite and with a way back at every F.

Linearised at rest this energy is not Hooke's law with (mu', lambda'). With c = 1 / (3 + delta) it is, and the rest
shape is free of stress, for
    mu' = mu / (1 - c),   lambda' = lambda + mu - 2 c^2 mu',   alpha = 1 + (1 - c) mu' / lambda',
which for the paper's delta = 1 are its mu' = 4/3 mu and lambda' = lambda + 5/6 mu. So equal Young moduli and Poisson
ratios mean equal stiffness at small strain, whichever the material.
"""

from dataclasses import dataclass

from jellycage.sim.materials import neo_hookean_kernels
from jellycage.sim.materials.elastic import Elastic


@dataclass(frozen=True, eq=False)
class NeoHookean(Elastic):
    """Stable neo-Hookean elasticity: keeps volume at large strain."""

    name = "neo_hookean"
    title = "Rubbery"
    sentence = "keeps volume at large strain"
    kernels = neo_hookean_kernels

    def parameters(self):
        """(mu', lambda' [Pa], alpha)."""
        return neo_hookean_kernels.stable_parameters.py_func(*self.lame())
