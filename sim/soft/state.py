"""What changes of a soft body from step to step."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Memory = dict[str, NDArray]
"""What a solver remembers of a body from step to step, by name; the solver that made it knows what it is."""


@dataclass(eq=False)
class State:
    """Everything that a step reads and writes of one body: a copy of it continues bit for bit."""

    x: NDArray[np.float64]
    """Node positions [m], shape (n, 3)."""
    v: NDArray[np.float64]
    """Node velocities [m/s], shape (n, 3)."""
    memory: Memory

    def copy(self) -> "State":
        """An independent copy."""
        memory = {name: array.copy() for name, array in self.memory.items()}
        return State(self.x.copy(), self.v.copy(), memory)

    def arrays(self) -> Memory:
        """All of it, by name."""
        return {"x": self.x, "v": self.v, **self.memory}

    def restore(self, arrays: Memory) -> None:
        """Become what `arrays` gave."""
        self.x[...], self.v[...] = arrays["x"], arrays["v"]
        for name, array in self.memory.items():
            array[...] = arrays[name]
