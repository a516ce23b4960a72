"""The worker: bakes a job in a process of its own, for Blender and for farms.

    python -m sim.worker JOB.json

The job is an object with `scene` (a scene as in a scene file, or the path of one), `cache` (a folder), and optionally
`exports` (a list of {path, up_axis, scale}), `preview`, `report`, `velocities`, `resume` and `force`. Relative paths
start at the job's folder. What happens goes to stdout, one JSON object per line with an `event`:

    stage     {stage, fraction}                                             before and after the simulation
    frame     {frame, substep, fraction, seconds, eta, volume_error, contacts}     (substep: within a slow frame)
    done      what `jellycage bake --json` prints
    error     {message, code}

The worker stops, keeping finished frames, when stdin ends or a line "cancel" comes, and exits with the code of the
error: 3 bad input, 4 solver failed, 5 input/output, 130 stopped, 1 anything else.
"""

import json
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from sim.errors import SceneError, SimError
from toolkit.errors import ToolkitError

OK, INTERNAL, BAD_INPUT, INPUT_OUTPUT, INTERRUPTED = 0, 1, 3, 5, 130
KEYS = ("scene", "cache", "exports", "preview", "report", "velocities", "resume", "force")


def exit_code(error: BaseException) -> int:
    """The exit code that stands for an error."""
    if isinstance(error, SimError):
        return error.exit_code
    if isinstance(error, ToolkitError):
        return BAD_INPUT
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return INPUT_OUTPUT if isinstance(error, OSError) else INTERNAL


def read_job(path: str | Path):
    """The job in a file; raises SceneError, in one line, if it cannot be used."""
    from sim.export.files import Export
    from sim.job import Job
    from sim.scene_file import read_scene_file, scene_of

    path = Path(path)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise SceneError(f"{path}: no JSON ({error}); write it again") from None
    if not isinstance(values, dict) or "scene" not in values or "cache" not in values:
        raise SceneError(f"{path}: expected an object with scene and cache; write it again")
    unknown = sorted(set(values) - set(KEYS))
    if unknown:
        raise SceneError(f"{path}: {unknown[0]}: not a key of a job; use {', '.join(KEYS)}")
    for name, kinds in (("scene", dict | str), ("cache", str)):
        if not isinstance(values[name], kinds):
            raise SceneError(
                f"{path}: {name}: expected a path, got {values[name]!r}; write it again"
            )
    folder = path.resolve().parent
    scene = values["scene"]
    scene = scene_of(scene, folder) if isinstance(scene, dict) else read_scene_file(folder / scene)
    try:
        exports = tuple(
            Export(folder / row["path"], row.get("up_axis"), row.get("scale", 1.0))
            for row in values.get("exports", [])
        )
        files = {name: folder / values[name] for name in ("preview", "report") if values.get(name)}
    except (TypeError, KeyError, AttributeError):
        raise SceneError(f"{path}: exports: expected a list of objects with a path") from None
    flags = {name: bool(values.get(name)) for name in ("velocities", "resume", "force")}
    return Job(scene, folder / values["cache"], exports, **files, **flags)


def emit(line: dict[str, Any]) -> None:
    """Write one JSON line to stdout at once."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def watch_stdin(stop: threading.Event) -> None:
    """Set `stop` when stdin ends or says so."""
    for line in sys.stdin:
        if line.strip() == "cancel":
            break
    stop.set()


def main(arguments: list[str] | None = None) -> int:
    """Run the job named on the command line; returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    stop = threading.Event()
    try:
        if len(arguments) != 1:
            raise SceneError(
                "expected one argument, the path of a job; see the head of sim/worker.py"
            )
        from sim.job import run_job
        from toolkit.compile_kernels import is_compiled
        from toolkit.json_values import plain

        job = read_job(arguments[0])
        threading.Thread(target=watch_stdin, args=(stop,), daemon=True).start()
        if not is_compiled():
            emit({"event": "stage", "stage": "compiling, first time only", "fraction": 0.0})
        facts = run_job(job, lambda line: emit(plain(line)), stop.is_set)
        emit({"event": "done", **plain(facts)})
        return OK
    except BaseException as error:
        code = exit_code(error)
        if code == INTERNAL:
            traceback.print_exc(file=sys.stderr)
        message = " ".join(str(error).split()) or type(error).__name__
        emit({"event": "error", "message": message, "code": code})
        return code


if __name__ == "__main__":
    sys.exit(main())
