"""What can go wrong in the simulator, sorted by who can mend it."""

from collections.abc import Sequence

from jellycage.toolkit import errors
from jellycage.toolkit.errors import ExitCode


class SimError(Exception):
    """Base of every error that the simulator raises on purpose; its text is one line with a remedy."""

    exit_code = ExitCode.BAD_INPUT
    """Of a command that ends in it."""


class SettingsError(SimError, errors.SettingsError):
    """A setting of a body, a pin, a load or the solver is out of range; the text says what is allowed."""


class SolverError(SimError):
    """The mathematics failed; the text names the frame, the substep and the cause."""

    exit_code = ExitCode.SOLVER_FAILED
    body: int | None = None
    """Number of the soft body that failed."""
    substep: int | None = None
    """Of the frame, from 1."""

    def at_frame(self, frame: int, names: Sequence[str] | None = None) -> "SolverError":
        """The same, with a text that says where: name or number of the body, frame, substep."""
        where = [f"frame {frame}"]
        if self.body is not None:
            name = f"body {self.body}" if names is None else names[self.body]
            where = [name, *where, f"substep {self.substep}"]
        return SolverError(f"{', '.join(where)}: {self}")


class SceneError(SimError, ValueError):
    """A scene file cannot be used as it is; the text names the file, the key, what is allowed and a remedy."""


class CacheError(SimError):
    """A bake's folder is missing, broken, or of another scene."""


class Cancelled(SimError):
    """Somebody asked to stop; finished frames are kept."""

    exit_code = ExitCode.INTERRUPTED
