"""The state of a scene: all that a step reads and writes."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.impacts import Impacts
from jellycage.sim.contact.memory import NO_MEMORY, ContactMemory
from jellycage.sim.contact.restitution import Restitution
from jellycage.sim.scene.scene import Scene
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.state import Memory, State
from jellycage.sim.solvers.methods import INTEGRATORS, SOLVERS, chosen

Arrays = dict[str, NDArray]


@dataclass(eq=False)
class SceneState:
    """A copy of it, or one restored from its arrays, continues bit for bit."""

    time: float
    """[s] since the start."""
    soft: list[State]
    """Of each soft body."""
    contacts: ContactMemory = NO_MEMORY
    """What contacts of soft bodies remember."""
    rigid: Memory = field(default_factory=dict)
    """Of the world of rigid bodies and ragdolls, see `RigidWorld.memory`; empty before anything is in it."""

    def copy(self) -> "SceneState":
        """An independent copy. Contacts and rigid memory are replaced by steps, never written to."""
        return SceneState(
            self.time, [state.copy() for state in self.soft], self.contacts, self.rigid
        )

    def arrays(self) -> Arrays:
        """All of it as arrays: "time", "soft.0.x", "contacts.key", "rigid.state_p", and so on."""
        parts = {f"soft.{number}": state.arrays() for number, state in enumerate(self.soft)}
        parts |= {"contacts": self.contacts.arrays(), "rigid": self.rigid}
        return {"time": np.array(self.time)} | {
            f"{part}.{name}": array
            for part, arrays in parts.items()
            for name, array in arrays.items()
        }

    def restore(self, arrays: Arrays) -> None:
        """Become the state, of the same scene, that gave these arrays."""
        self.time = float(arrays["time"])
        for number, state in enumerate(self.soft):
            state.restore(_below(arrays, f"soft.{number}."))
        self.contacts = ContactMemory(**_below(arrays, "contacts."))
        self.rigid = _below(arrays, "rigid.")


def start_state(scene: Scene) -> SceneState:
    """The state at time zero."""
    return SceneState(0.0, [_start(body, scene) for body in scene.bodies])


def _start(body: SoftBody, scene: Scene) -> State:
    x, v = np.array(body.start_positions()), np.array(body.start_velocities())
    memory = chosen(SOLVERS, scene.solver.method).start_memory(body)
    memory |= chosen(INTEGRATORS, scene.solver.integrator).start_memory(body)
    memory |= Impacts.start_memory(body) | Restitution.start_memory(body)
    return State(x, v, memory)


def _below(arrays: Arrays, prefix: str) -> Arrays:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
