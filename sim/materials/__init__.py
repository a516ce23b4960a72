"""Elastic materials: each a few lines of parameters and a few lines of kernels."""

from jellycage.sim.materials.corotated import Corotated
from jellycage.sim.materials.neo_hookean import NeoHookean

LAWS = (Corotated, NeoHookean)
"""Every material; the place of a law is its number in kernels."""

__all__ = ["LAWS", *(law.__name__ for law in LAWS)]
