"""What every material shares: its parameters in the user's words, and its functions over many deformation gradients."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SettingsError


@dataclass(frozen=True, eq=False)
class Elastic(ABC):
    """An isotropic elastic material. Stiffness and density may differ from element to element."""

    young_modulus: ArrayLike = 1e5
    """Stiffness [Pa], a number or one per element, shape (e,)."""
    poisson_ratio: ArrayLike = 0.45
    """Sideways contraction, in [0, 0.5): 0 like cork, 0.49 like rubber. A number or shape (e,)."""
    density: ArrayLike = 1000.0
    """Mass per volume of the solid [kg/m^3], a number or shape (e,)."""

    name: ClassVar[str]
    """In scene files."""
    title: ClassVar[str]
    """In the panel."""
    sentence: ClassVar[str]
    """What it is good for."""
    kernels: ClassVar[ModuleType]
    """Its functions of one deformation gradient, see `laws_kernels`."""

    def __post_init__(self):
        _check(self.young_modulus, "young_modulus", 0.0, np.inf, "a positive stiffness in Pa")
        _check(self.density, "density", 0.0, np.inf, "a positive density in kg/m^3")
        _check(self.poisson_ratio, "poisson_ratio", -1.0, 0.5, "more than -1 and less than 0.5")

    def lame(self) -> tuple[NDArray, NDArray]:
        """Lamé parameters (mu, lambda) [Pa] of small strains."""
        young, nu = np.asarray(self.young_modulus, float), np.asarray(self.poisson_ratio, float)
        return young / (2.0 * (1.0 + nu)), young * nu / ((1.0 + nu) * (1.0 - 2.0 * nu))

    @abstractmethod
    def parameters(self) -> tuple[NDArray, ...]:
        """The numbers that the material's kernels take, see its PARAMETERS, each a number or shape (e,)."""

    @property
    def law(self) -> int:
        """The number by which kernels know the law."""
        return _laws().number_of(self.kernels)

    def check_count(self, count: int) -> None:
        """Refuse fields that do not have one number for each of `count` elements."""
        for name in ("young_modulus", "poisson_ratio", "density"):
            shape = np.shape(getattr(self, name))
            if shape not in ((), (count,)):
                raise SettingsError(
                    f"{name}: expected one number or one for each of the {count} elements, got shape {shape}"
                )

    def parameter_rows(self, count: int) -> NDArray[np.float64]:
        """The parameters of each of `count` elements, padded with 0 to those of the law with most, shape (e, p)."""
        self.check_count(count)
        rows = np.zeros((count, _laws().WIDTH))
        for column, values in enumerate(self.parameters()):
            rows[:, column] = values
        return rows

    def energy_density(self, gradients: NDArray) -> NDArray:
        """Elastic energy per rest volume [Pa] of each deformation gradient, (q, 3, 3) -> (q,)."""
        return self._energies_and_stresses(gradients)[0]

    def stress(self, gradients: NDArray) -> NDArray:
        """First Piola stress [Pa] of each deformation gradient, (q, 3, 3) -> (q, 3, 3)."""
        return self._energies_and_stresses(gradients)[1].reshape(-1, 3, 3)

    def hessian(self, gradients: NDArray) -> NDArray:
        """Exact derivative of the stress by F [Pa], (q, 3, 3) -> (q, 9, 9), rows and columns in row-major order."""
        return _laws().hessians(*self._rows(gradients), self.law, False)

    def projected_hessian(self, gradients: NDArray) -> NDArray:
        """The Hessian with its negative eigenvalues set to zero, from the analytic eigensystem, (q, 9, 9)."""
        return _laws().hessians(*self._rows(gradients), self.law, True)

    def _rows(self, gradients):
        rows = np.ascontiguousarray(np.asarray(gradients, float).reshape(-1, 9))
        return rows, self.parameter_rows(len(rows))

    def _energies_and_stresses(self, gradients):
        return _laws().energies_and_stresses(*self._rows(gradients), self.law)


def _check(value, name, low, high, allowed):
    array = np.asarray(value)
    if array.dtype.kind not in "iuf" or array.ndim > 1:
        raise SettingsError(f"{name}: expected {allowed}, as a number or one per element")
    if not ((array > low) & (array < high)).all():
        raise SettingsError(f"{name}: expected {allowed}, got {array.min()}..{array.max()}")


def _laws() -> ModuleType:
    """The functions of all laws; they are made from the table of laws, so not before that is complete."""
    from jellycage.sim.materials import laws_kernels

    return laws_kernels
