"""Characters in Blender: read from an armature, and back as an action."""

from .action import load_motion
from .read import write_character

__all__ = ["load_motion", "write_character"]
