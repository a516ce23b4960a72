"""What buttons do."""

from . import bake, body, demo, installation, materials, result, setup

MODULES = (body, materials, setup, bake, result, demo, installation)
