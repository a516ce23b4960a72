"""Elastic materials: each a few lines of parameters and a few lines of kernels."""

from sim.materials.corotated import Corotated
from sim.materials.neo_hookean import NeoHookean

__all__ = ["Corotated", "NeoHookean"]
