"""The child process: Blender's own Python, working on a job and telling about it line by line.

It ends itself when our end of its stdin closes, so that nothing outlives Blender. A thread reads what it says, since
pipes cannot be waited for on Windows.
"""

import importlib.util
import json
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path

from .errors import SetupError

HERE = Path(__file__).resolve().parent
BOOT = HERE / "boot.py"
LOG_LINES = 400
DROPPED = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONINSPECT")
"""Variables that studios set for other Pythons."""


def python_path() -> str:
    """The Python that Blender was built with."""
    name = Path(sys.executable or "").name.lower()
    if name.startswith("python"):
        return sys.executable
    folder = Path(sys.prefix) / ("" if os.name == "nt" else "bin")
    for path in sorted(folder.glob("python*"), key=lambda path: len(path.name)):
        if os.access(path, os.X_OK) and path.suffix in ("", ".exe", ".11", ".13"):
            return str(path)
    raise SetupError(f"Blender's own Python is not in {folder}: install Blender again")


def packages_folder() -> str:
    """Where Blender put the wheels of the extension."""
    found = importlib.util.find_spec("numba")
    if found is None or not found.origin:
        version = ".".join(map(str, sys.version_info[:2]))
        raise SetupError(
            f"The extension has no packages for Python {version}: install the zip for this "
            "Blender, or one of Blender 4.2 to 5.2"
        )
    return str(Path(found.origin).parent.parent)


class Child:
    """A job that is being worked on. `events` is read by the owner, who alone talks to Blender."""

    def __init__(self, job: Path, compiled: Path):
        environment = {name: v for name, v in os.environ.items() if name not in DROPPED}
        environment["JELLYCAGE_PACKAGES"] = packages_folder()
        environment["NUMBA_CACHE_DIR"] = str(compiled)
        self.events: queue.Queue[dict] = queue.Queue()
        self.log = deque(maxlen=LOG_LINES)
        self.process = subprocess.Popen(
            [python_path(), "-s", "-X", "utf8", str(BOOT), str(job)],
            env=environment,
            cwd=str(job.parent),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self.readers = [
            threading.Thread(target=self._read_events, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self.readers:
            reader.start()

    def _read_events(self):
        for line in self.process.stdout:
            self.log.append(line.rstrip())
            try:
                event = json.loads(line)
            except ValueError:
                continue  # whatever a library printed
            if isinstance(event, dict):
                self.events.put(event)

    def _read_errors(self):
        for line in self.process.stderr:
            self.log.append(line.rstrip())

    def cancel(self) -> None:
        """Ask it to stop after the step it is in; finished frames are kept."""
        try:
            self.process.stdin.write("cancel\n")
            self.process.stdin.flush()
        except (OSError, ValueError):
            pass  # it has ended already

    def is_running(self) -> bool:
        """Whether it has more to say."""
        return self.process.poll() is None or any(thread.is_alive() for thread in self.readers)

    def end(self, patience: float = 2.0) -> None:
        """Have it ended, kindly if it can be done in `patience` seconds."""
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for reader in self.readers:
            reader.join(1.0)
        for pipe in (self.process.stdout, self.process.stderr):
            pipe.close()
