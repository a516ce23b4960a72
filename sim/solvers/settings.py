"""How hard the solvers try."""

from dataclasses import dataclass

from jellycage.sim.errors import SettingsError
from jellycage.sim.soft.elasticity import DIFFERENTIALS


@dataclass(frozen=True)
class SolverSettings:
    """Limits and tolerances of the Newton iterations and of the linear solver inside them."""

    newton_iterations: int = 4
    """Most Newton steps per time step, short ones not counted; 1 is semi-implicit, and always one."""
    newton_tolerance: float = 0.03
    """Stop when the residual has fallen to this fraction of what it was."""
    linear_iterations: int = 200
    """Most conjugate-gradient iterations per Newton step."""
    linear_tolerance: float = 1e-2
    """Stop them when the residual has fallen to this fraction of what it was."""
    stiffness: str = "twist"
    """Stress differential of co-rotated bodies, see `elasticity`: "twist", "hybrid" or "projected"."""
    precision: float = 1e-9
    """Displacements below this fraction of the body's size are not worth an iteration."""
    method: str = "newton"
    """A name in `methods.SOLVERS`."""
    integrator: str = "bdf2"
    """A name in `methods.INTEGRATORS`."""
    impact_steps: int = 16
    """Into how many steps, a power of two, one is cut at the most around blows and yanks of pins; 1: never."""

    def __post_init__(self):
        for name in ("newton_iterations", "linear_iterations", "impact_steps"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name}: expected at least 1, got {getattr(self, name)}")
        for name in ("newton_tolerance", "linear_tolerance", "precision"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise SettingsError(
                    f"{name}: expected a fraction in [0, 1), got {getattr(self, name)}"
                )
        if self.stiffness not in DIFFERENTIALS:
            raise SettingsError(
                f"stiffness: expected one of {DIFFERENTIALS}, got {self.stiffness!r}"
            )
