"""The worker: bakes, and whatever else takes long, in a process of its own, for Blender and for farms.

    python -m jellycage.sim.worker JOB.json

The job is an object with a `task`; relative paths in it start at the job's folder.

    bake      (or no task) `scene` (a scene as in a scene file, or the path of one) and `cache` (a folder); optionally
              `exports` (a list of {path, up_axis, scale, body, placements}, see `sim.bake.exports.Export`), `preview`,
              `report`, `velocities`, `resume`, `force` and `keep_going`
    cage      `mesh`, `asset` (.npz to write) and `settings`, see `jellycage.toolkit.prepare.CageSettings`
    export    `cache` and `exports`; with `partial` as far as it was baked
    check     nothing: drops a cube, and says with which versions

What happens goes to stdout, one JSON object per line with an `event`:

    stage     {stage, fraction}                                             before and after the simulation
    frame     {frame, substep, fraction, seconds, eta, volume_error, contacts}     (substep: within a slow frame)
    done      what was made: for a bake what `jellycage bake --json` prints
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

from jellycage.sim.errors import SceneError
from jellycage.toolkit.errors import ExitCode, exit_code

FLAGS = ("velocities", "resume", "force", "keep_going")
KEYS = {
    "bake": ("scene", "cache", "exports", "preview", "report", *FLAGS),
    "cage": ("mesh", "asset", "settings", "patches"),
    "export": ("cache", "exports", "partial"),
    "check": (),
}
NEEDED = {"scene": dict | str, "cache": str, "mesh": str, "asset": str, "settings": dict}


def read_job(path: str | Path):
    """What the job in a file asks for, as an object with `run`; raises SceneError, in one line, if it is no job."""
    path = Path(path)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise SceneError(f"{path}: no JSON ({error}); write it again") from None
    if not isinstance(values, dict):
        raise SceneError(f"{path}: expected an object; write it again")
    task = values.pop("task", "bake")
    if not isinstance(task, str) or task not in KEYS:
        raise SceneError(f"{path}: task: expected one of {', '.join(KEYS)}; write it again")
    needed = [name for name in KEYS[task] if name in NEEDED]
    if not all(name in values for name in needed):
        raise SceneError(f"{path}: expected an object with {' and '.join(needed)}; write it again")
    unknown = sorted(set(values) - set(KEYS[task]))
    if unknown:
        known = ", ".join(KEYS[task]) or "none"
        raise SceneError(f"{path}: {unknown[0]}: not a key of a job; use {known}")
    for name in needed:
        if not isinstance(values[name], NEEDED[name]):
            wanted = "an object" if NEEDED[name] is dict else "a path"
            raise SceneError(
                f"{path}: {name}: expected {wanted}, got {values[name]!r}; write it again"
            )
    return _task(task, values, path)


def _task(task, values, path):
    from jellycage.sim.bake.bake_task import BakeTask
    from jellycage.sim.bake.tasks import CageTask, ExportTask, SelfTest
    from jellycage.sim.scene.scene_file import read_scene_file, scene_of

    folder = path.resolve().parent
    if task == "check":
        return SelfTest()
    if task == "cage":
        patches = values.get("patches")
        return CageTask(
            folder / values["mesh"],
            folder / values["asset"],
            values["settings"],
            None if patches is None else folder / str(patches),
        )
    exports = _exports(values, folder, path)
    if task == "export":
        return ExportTask(folder / values["cache"], exports, bool(values.get("partial")))
    scene = values["scene"]
    scene = scene_of(scene, folder) if isinstance(scene, dict) else read_scene_file(folder / scene)
    files = {name: folder / values[name] for name in ("preview", "report") if values.get(name)}
    flags = {name: bool(values.get(name)) for name in FLAGS}
    return BakeTask.of_scene(scene, folder / values["cache"], exports, **files, **flags)


def _exports(values, folder, path):
    from jellycage.sim.bake.exports import Export

    try:
        return tuple(
            Export(
                folder / row["path"],
                row.get("up_axis"),
                row.get("scale", 1.0),
                row.get("body"),
                folder / row["placements"] if row.get("placements") else None,
            )
            for row in values.get("exports", [])
        )
    except (TypeError, KeyError, AttributeError):
        raise SceneError(f"{path}: exports: expected a list of objects with a path") from None


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
    stop, helpers = threading.Event(), []
    try:
        if len(arguments) != 1:
            raise SceneError(
                "expected one argument, the path of a job; see the head of sim/worker.py"
            )
        from jellycage.sim.warm_up import start_warm_up
        from jellycage.toolkit.compile_kernels import COMPILING, is_compiled
        from jellycage.toolkit.json_values import plain

        job = read_job(arguments[0])
        threading.Thread(target=watch_stdin, args=(stop,), daemon=True).start()
        is_first_time = not is_compiled()
        if is_first_time:
            emit({"event": "stage", "stage": COMPILING, "fraction": 0.0})

        def tell(line):
            if is_first_time and line["event"] == "stage":
                line = {**line, "stage": COMPILING}
            emit(plain(line))

        helpers = [helper for helper in map(start_warm_up, job.elements) if helper is not None]
        facts = job.run(tell, stop.is_set, helpers)
        emit({"event": "done", **plain(facts)})
        while any(helper.poll() is None for helper in helpers) and not stop.wait(0.1):
            pass  # what they compile is for the next job
        return ExitCode.OK
    except BaseException as error:
        code = exit_code(error)
        if code == ExitCode.INTERNAL:
            traceback.print_exc(file=sys.stderr)
        message = " ".join(str(error).split()) or type(error).__name__
        emit({"event": "error", "message": message, "code": code})
        return code
    finally:
        for helper in helpers:
            helper.kill()


if __name__ == "__main__":
    sys.exit(main())
