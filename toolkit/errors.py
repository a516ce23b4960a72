"""What can go wrong in the toolkit, sorted by who can mend it, and the exit codes of commands that end in it.

Our errors carry the exit code of a command that ends in them; `exit_code` knows those of Python's own.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ends. Others script against these numbers."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    BAD_INPUT = 3
    SOLVER_FAILED = 4
    INPUT_OUTPUT = 5
    INTERRUPTED = 130


class ToolkitError(Exception):
    """Base of every error that the toolkit raises on purpose; its text is one line with a remedy."""

    exit_code = ExitCode.BAD_INPUT
    """Of a command that ends in it."""


class MeshError(ToolkitError, ValueError):
    """The mesh cannot be used as it is; the text says what to change."""


class SettingsError(ToolkitError, ValueError):
    """A setting is out of range; the text says what is allowed."""


class AssetError(ToolkitError):
    """An asset file is truncated, foreign or from a later version."""


def exit_code(error: BaseException) -> ExitCode:
    """The exit code of a command, or of the worker, that ends in an error."""
    if hasattr(error, "exit_code"):
        return ExitCode(error.exit_code)
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    if isinstance(error, MemoryError):
        return ExitCode.BAD_INPUT
    return ExitCode.INPUT_OUTPUT if isinstance(error, OSError) else ExitCode.INTERNAL
