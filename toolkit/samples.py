"""Where the sample mesh lies, in an installed package as in a checkout."""

from pathlib import Path

from jellycage.toolkit.errors import MeshError

DEMO_MESH = "gummy_bear.obj"


def sample_path(name: str = DEMO_MESH) -> Path:
    """Path of a sample mesh; only the demo's own is part of the installed package."""
    package = Path(__file__).resolve().parent
    for folder in (package / "sample_meshes", package.parent / "sample_meshes"):
        if (folder / name).is_file():
            return folder / name
    raise MeshError(
        f"{name}: this sample mesh is not installed; take it from the source repository"
    )
