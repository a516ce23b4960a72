"""Compile the simulator's kernels in a process of their own, while a cage is being built in another.

    python -m jellycage.sim.warm_up tet|hex|pictures         until stdin ends

On the first run of an installation half of the waiting is compiling; two cores can share it. Pictures are wanted last,
so what compiles them takes what the others leave.
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
PATIENT = 10  # how far behind the others it stands, where processes have priorities


def compile_step(element: str) -> None:
    """Step one element, turned inside out and turning, on the ground: that compiles all that a bake needs."""
    from jellycage.sim import Cage, NeoHookean, Scene, SoftBody, Stepper, ground

    cage = Cage(CORNERS[[0, 1, 3, 4]], TET) if element == "tet" else Cage(CORNERS, HEX)
    start = cage.nodes * [-1.0, 1.0, 1.0]
    body = SoftBody(cage, NeoHookean(), start=start, spin=(0.0, 0.0, 5.0), restitution=0.5)
    stepper = Stepper(Scene([body], colliders=[ground(0.01)]), fps=100.0)
    stepper.step(stepper.start())


def compile_export() -> None:
    """Write one triangle."""
    from jellycage.sim.export.alembic import AlembicWriter
    from jellycage.sim.export.frames import ExportMesh

    mesh = ExportMesh("x", 3, [0, 3], [0, 1, 2])
    with (
        tempfile.TemporaryDirectory() as folder,
        AlembicWriter(Path(folder, "x.abc"), [mesh]) as file,
    ):
        file.write([CORNERS[:3]])


def compile_pictures() -> None:
    """Draw one triangle."""
    from jellycage.toolkit.picture.picture import Drawn, render

    render([Drawn(CORNERS[:3], np.array([[0, 1, 2]]))], width=64, height=48)


def start_warm_up(name: str) -> subprocess.Popen | None:
    """Start compiling beside this process; None where that would not help.

    name: "tet" or "hex", what simulates such elements and writes files; "pictures", what draws a preview.
    """
    from jellycage.toolkit.compile_kernels import CACHE_FOLDER

    if CACHE_FOLDER is None or (os.cpu_count() or 1) < 2:
        return None
    if (CACHE_FOLDER / f"warm_{name}").exists():
        return None
    # This process may have its packages from anywhere, and the folder it was started in may hold others of their names.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-s", "-P", "-m", "jellycage.sim.warm_up", name],
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
    """Compile what the command line names, and leave a mark that it is done."""
    from jellycage.toolkit.compile_kernels import CACHE_FOLDER

    threading.Thread(target=end_with_parent, daemon=True).start()
    name = sys.argv[1]
    if name == "pictures":
        if hasattr(os, "nice"):
            os.nice(PATIENT)
        compile_pictures()
    else:
        compile_step(name)
        compile_export()
    if CACHE_FOLDER is not None:
        (CACHE_FOLDER / f"warm_{name}").touch()


if __name__ == "__main__":
    main()
