"""Functions of all rotation methods, which find the method's own by its number."""

from jellycage.sim.maths.choice_kernels import chosen
from jellycage.sim.rotations import ROTATIONS

rotation = chosen([method.rotation for method in ROTATIONS.values()], "rotation")
