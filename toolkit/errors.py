"""What can go wrong in the toolkit, sorted by who can mend it."""


class ToolkitError(Exception):
    """Base of every error that the toolkit raises on purpose; its text is one line with a remedy."""


class MeshError(ToolkitError, ValueError):
    """The mesh cannot be used as it is; the text says what to change."""


class SettingsError(ToolkitError, ValueError):
    """A setting is out of range; the text says what is allowed."""


class AssetError(ToolkitError):
    """An asset file is truncated, foreign or from a later version."""
