"""Elastic materials: each a few lines of parameters and a few lines of kernels."""

from jellycage.sim.materials.corotated import Corotated
from jellycage.sim.materials.neo_hookean import NeoHookean

__all__ = ["Corotated", "NeoHookean"]
