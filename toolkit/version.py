"""The version, said once: pyproject.toml and `jellycage version` both read it here."""

VERSION = "0.1.0"
