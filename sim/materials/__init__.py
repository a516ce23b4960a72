"""Elastic materials: each a few lines of parameters and a few lines of kernels."""

from jellycage.sim.materials.bonet_wood import BonetWood
from jellycage.sim.materials.corotated import Corotated
from jellycage.sim.materials.elastic import Elastic
from jellycage.sim.materials.neo_hookean import NeoHookean

LAWS = (NeoHookean, Corotated, BonetWood)
"""Every material; the place of a law is its number in kernels."""


def law_named(name: str) -> type[Elastic]:
    """The material that has a name in scene files."""
    return next(law for law in LAWS if law.name == name)


__all__ = ["law_named", "LAWS", *(law.__name__ for law in LAWS)]
