"""Compile the simulator's kernels in a process of their own, while a cage is being built in another.

    python -m jellycage.sim.warm_up tet|hex           until stdin ends

On the first run of an installation half of the waiting is compiling; two cores can share it.
"""

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

from jellycage.toolkit.cage.element_tables import CUBE_CORNERS

TET = np.array([[0, 1, 2, 3]])
HEX = np.array([[0, 1, 2, 3, 4, 5, 6, 7]])
CORNERS = CUBE_CORNERS.astype(float)


def compile_step(element: str) -> None:
    """Step one element, turned inside out, on the ground: that compiles all that a bake needs."""
    from jellycage.sim import Cage, NeoHookean, Scene, SoftBody, Stepper, ground

    cage = Cage(CORNERS[[0, 1, 3, 4]], TET) if element == "tet" else Cage(CORNERS, HEX)
    body = SoftBody(cage, NeoHookean(), start=cage.nodes * [-1.0, 1.0, 1.0])
    stepper = Stepper(Scene([body], colliders=[ground(0.01)]), fps=100.0)
    stepper.step(stepper.start())


def compile_outputs() -> None:
    """Draw and write one triangle."""
    from jellycage.sim.export.alembic import AlembicWriter
    from jellycage.sim.export.frames import ExportMesh
    from jellycage.toolkit.picture.gif_file import write_gif
    from jellycage.toolkit.picture.picture import Shape, render

    points, faces = CORNERS[:3], np.array([[0, 1, 2]])
    with tempfile.TemporaryDirectory() as folder:
        image = render([Shape(points, faces)], width=64, height=48)
        write_gif(Path(folder, "x.gif"), [image, image[::-1]], 24.0)
        with AlembicWriter(Path(folder, "x.abc"), [ExportMesh("x", 3, [0, 3], [0, 1, 2])]) as file:
            file.write([points])


def start_warm_up(element: str) -> subprocess.Popen | None:
    """Start compiling beside this process; None where that would not help."""
    from jellycage.toolkit.compile_kernels import CACHE_FOLDER

    marker = None if CACHE_FOLDER is None else CACHE_FOLDER / f"warm_{element}"
    if marker is None or marker.exists() or (os.cpu_count() or 1) < 2:
        return None
    # This process may have its packages from anywhere, and the folder it was started in may hold others of their names.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-s", "-P", "-m", "jellycage.sim.warm_up", element],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )


def end_with_parent() -> None:
    """End this process as soon as the one that started it has ended, whatever ended it."""
    sys.stdin.read()
    os._exit(1)


def main() -> None:
    """Compile, and leave a mark that it is done."""
    from jellycage.toolkit.compile_kernels import CACHE_FOLDER

    threading.Thread(target=end_with_parent, daemon=True).start()
    element = sys.argv[1]
    compile_step(element)
    compile_outputs()
    if CACHE_FOLDER is not None:
        (CACHE_FOLDER / f"warm_{element}").touch()


if __name__ == "__main__":
    main()
