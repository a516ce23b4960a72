"""What can go wrong in the simulator, sorted by who can mend it."""

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


class SceneError(SimError, ValueError):
    """A scene file cannot be used as it is; the text names the file, the key, what is allowed and a remedy."""


class CacheError(SimError):
    """A bake's folder is missing, broken, or of another scene."""


class Cancelled(SimError):
    """Somebody asked to stop; finished frames are kept."""

    exit_code = ExitCode.INTERRUPTED
