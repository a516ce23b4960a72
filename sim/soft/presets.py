"""Presets: what a body is made of and how hard to try, in words that hold at every size.

A column of height L under its own weight loses the fraction rho g L / 2E of its height. A preset names that fraction,
the sag, and E follows from it; other shapes take more or less, which `solvers.standing` finds from this first guess.
The column's first mode along its height has the angular frequency

    w = (pi / 2) sqrt(E / rho) / L = (pi / 2) sqrt(g / (2 sag L)),

and stiffness damping beta gives a mode the damping ratio beta w / 2. So beta = (4 ratio / pi) sqrt(2 sag) sqrt(L / g),
and a body of twice the size moves alike, sqrt(2) times as slowly.

BDF2 damps next to nothing: a step dt adds about (w dt)^3 / 4 to the ratio, for jelly at preview quality 0.003. With its
own 0.04 a metre of jelly that is set down wobbles for three seconds before 95 % are gone, at any quality. With implicit
Euler, which adds w dt / 2, that takes 1.3, 1.5 and 2.4 seconds at preview, standard and final quality.
Slower modes are damped less: swaying on a held foot goes on for several times as long.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jellycage.sim.errors import SettingsError
from jellycage.sim.materials import law_named
from jellycage.sim.materials.elastic import Elastic

EARTH_GRAVITY = 9.81
"""What sizes a preset where there is no gravity [m/s^2]."""


@dataclass(frozen=True)
class Preset:
    """A material for bodies of any size."""

    sag: float
    """Fraction of its height that a standing body loses to its own weight, see `solvers.standing`."""
    poisson_ratio: float
    density: float
    """[kg/m^3]."""
    damping_ratio: float
    """Of the first mode along the height: 0 rings on, 1 returns without swinging."""
    friction: float
    """Coulomb coefficient."""
    restitution: float
    """Least share of the approach speed that it leaves a collider with, 0..1; its own elasticity may give more."""
    law: str
    """Name of its material, see `materials.LAWS`."""
    description: str
    """One sentence for artists."""


PRESETS = {
    "jelly": Preset(
        sag=0.1,
        poisson_ratio=0.48,
        density=1000.0,
        damping_ratio=0.04,
        friction=0.4,
        restitution=0.0,
        law="neo_hookean",
        description="Gelatin: sags visibly, wobbles for seconds and keeps its volume.",
    ),
    "flesh": Preset(
        sag=0.05,
        poisson_ratio=0.45,
        density=1050.0,
        damping_ratio=0.12,
        friction=0.6,
        restitution=0.0,
        law="neo_hookean",
        description="Muscle and fat: jiggles once or twice and keeps its volume.",
    ),
    "foam": Preset(
        sag=0.02,
        poisson_ratio=0.2,
        density=60.0,
        damping_ratio=0.3,
        friction=0.7,
        restitution=0.0,
        law="corotated",
        description="Upholstery foam: light, gives way without bulging and returns slowly.",
    ),
    "rubber": Preset(
        sag=0.005,
        poisson_ratio=0.47,
        density=1100.0,
        damping_ratio=0.06,
        friction=0.9,
        restitution=0.3,
        law="neo_hookean",
        description="Solid rubber: hardly sags, bounces and quivers briefly.",
    ),
    "stiff": Preset(
        sag=0.001,
        poisson_ratio=0.3,
        density=1200.0,
        damping_ratio=0.1,
        friction=0.4,
        restitution=0.2,
        law="corotated",
        description="Nearly rigid: holds its shape and bends only under a blow.",
    ),
}


MODULI = (
    "The moduli are those of a column. A bake finds that of the body itself, with which it loses just its sag of its\n"
    "height on a floor, and prints it: for jelly a ball takes twice as much, a cube two thirds."
)
"""What a list of presets should say about stiffness."""


@dataclass(frozen=True)
class Quality:
    """How finely a scene is cut up in space and time."""

    resolution: int
    """Cells across the longest side of a body."""
    newton_iterations: int
    """Most Newton steps per time step."""
    largest_step: float
    """Longest time step in units of sqrt(L / g)."""
    description: str
    """One sentence for artists."""


QUALITIES = {
    "preview": Quality(8, 2, 0.1, "To try things out: coarse cages, coarse motion."),
    "standard": Quality(16, 2, 0.05, "For most shots."),
    "final": Quality(24, 4, 0.025, "For close-ups: fine cages, fine motion, longer waits."),
}


def preset_material(
    preset: Preset, height: float, gravity: ArrayLike, *, sag: float | None = None
) -> tuple[Elastic, float]:
    """The material of a column of this height [m] under this gravity [m/s^2], and its stiffness damping [s].

    gravity: a vector (3,); without any, that of the Earth sizes the material. sag overrides the preset's.
    """
    sag = preset.sag if sag is None else sag
    if not 0.0 < height < math.inf or not 0.0 < sag < 1.0:
        raise SettingsError(
            "preset_material: expected a height above 0 m and a sag between 0 and 1, "
            f"got {height} and {sag}; measure the body along gravity"
        )
    young_modulus = preset.density * gravity_strength(gravity) * height / (2.0 * sag)
    material = law_named(preset.law)(young_modulus, preset.poisson_ratio, preset.density)
    return material, stiffness_damping(preset.damping_ratio, material, height)


def stiffness_damping(damping_ratio: float, material: Elastic, height: float) -> float:
    """Rayleigh beta [s] that gives the first mode along a height [m] of one uniform material this damping ratio."""
    angular_frequency = (
        math.pi / 2.0 * math.sqrt(material.young_modulus / material.density) / height
    )
    return 2.0 * damping_ratio / angular_frequency


def substeps_for(fps: float, length: float, gravity: ArrayLike, quality: Quality) -> int:
    """Fewest equal steps per frame that are none longer than the quality allows a body of this length [m]."""
    if not 0.0 < fps < math.inf or not 0.0 < length < math.inf:
        raise SettingsError(
            f"substeps_for: expected fps and a length above 0, got {fps} and {length}; "
            "measure the smallest body"
        )
    longest = quality.largest_step * math.sqrt(length / gravity_strength(gravity))
    # A frame that is a whole number of longest steps gets that number, whichever way it was rounded.
    return max(1, math.ceil(1.0 / (fps * longest) - 1e-9))


def gravity_strength(gravity: ArrayLike) -> float:
    """|gravity| [m/s^2] of a vector (3,), or the Earth's if it is zero."""
    return float(np.linalg.norm(gravity)) or EARTH_GRAVITY
