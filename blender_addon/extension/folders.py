"""Where caches are kept: beside the .blend, one folder per .blend and in it one per bake, so that nothing is shared.

    shot.blend
    jellycage_cache/shot/bake_1f0c9a7e/     scene.json, job.json, Suzanne.npz, frames/, Suzanne.pc2, done.json

A .blend that was never saved has its folder in the user's files; saving moves it. Save As copies what is in use.
"""

import hashlib
import json
import re
import secrets
import shutil
import time
from pathlib import Path

import bpy

CACHE = "jellycage_cache"
SAFE = re.compile(r"[^\w\- ]+")
FORGOTTEN = 30 * 24 * 3600.0  # seconds
DONE, JOB, BODIES = "done.json", "job.json", "bodies.json"


def user_folder(name: str) -> Path:
    """A folder of ours in the user's files, made if needed."""
    return Path(bpy.utils.extension_path_user(__package__, path=name, create=True))


def compiled_folder() -> Path:
    """Where the worker keeps compiled code."""
    return user_folder("compiled")


def forget_old_sessions() -> None:
    """Delete what Blenders that were never saved left a month ago."""
    for folder in (*user_folder("unsaved").iterdir(), *user_folder("scratch").iterdir()):
        if time.time() - folder.stat().st_mtime > FORGOTTEN:
            shutil.rmtree(folder, ignore_errors=True)


def session_folder() -> Path:
    """Where the caches of a .blend without a name are, one folder for each new file."""
    return user_folder("unsaved") / SESSION


SESSION = secrets.token_hex(4)


def new_session() -> None:
    """Another file is opened: what the last one left is not its own."""
    global SESSION
    SESSION = secrets.token_hex(4)


def cache_folder(blend: str | None = None) -> Path:
    """Where the caches of a .blend are kept; None: of the open one."""
    blend = bpy.data.filepath if blend is None else blend
    if not blend:
        return session_folder()
    return Path(blend).resolve().parent / CACHE / whole_name(Path(blend).stem)


def safe_name(name: str) -> str:
    """A file name that every system takes."""
    return SAFE.sub("_", name).strip(" .")[:48] or "body"


def whole_name(name: str) -> str:
    """A file name that every system takes and that no other name gives, however long they are."""
    safe = safe_name(name)
    if safe == name:
        return safe
    return f"{safe[:39]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def new_bake_folder() -> Path:
    """A folder for one bake that did not exist before."""
    folder = cache_folder() / f"bake_{secrets.token_hex(4)}"
    folder.mkdir(parents=True)
    return folder


def new_scratch_folder(name: str) -> Path:
    """A folder in the user's files for something that is soon forgotten."""
    folder = user_folder("scratch") / f"{name}_{secrets.token_hex(4)}"
    folder.mkdir(parents=True)
    return folder


def unfinished_bake() -> Path | None:
    """The newest bake of the open .blend, if it was stopped or broken off after its first frame."""
    folders = [path.parent for path in cache_folder().glob(f"bake_*/{JOB}")]
    begun = [folder for folder in folders if (folder / "frames" / "bake.json").exists()]
    newest = max(begun, key=lambda folder: (folder / JOB).stat().st_mtime, default=None)
    return newest if newest is not None and not (newest / DONE).exists() else None


def write_json(path: Path, value) -> None:
    """Write a value whole or not at all."""
    draft = path.with_name(path.name + ".part")
    draft.write_text(json.dumps(value, indent=1), encoding="utf-8")
    draft.replace(path)


def read_json(path: Path):
    """The value in a file, or None if there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def stored_path(path: Path) -> str:
    """A path as a .blend should keep it: relative to itself where that can be."""
    if not bpy.data.filepath:
        return str(path)
    try:
        return bpy.path.relpath(str(path))
    except ValueError:  # another drive
        return str(path)


def real_path(stored: str) -> Path:
    """The place that a stored path means."""
    return Path(bpy.path.abspath(stored))


def unused_bakes(played: set[Path]) -> list[Path]:
    """Bakes in the folder of the open .blend that nothing in it plays, but for one that can be resumed."""
    resumable = unfinished_bake()
    return [
        folder
        for folder in sorted(cache_folder().glob("bake_*"))
        if folder != resumable and not any(folder in path.parents for path in played)
    ]


def size(folder: Path) -> int:
    """Bytes in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def copied_bake(folder: Path, blend: str) -> Path:
    """The folder of a bake in the place that belongs to `blend`, copied there if need be."""
    target = cache_folder(blend) / folder.name
    if target != folder and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(target.name + ".part")
        shutil.rmtree(draft, ignore_errors=True)
        shutil.copytree(folder, draft)
        draft.rename(target)
    return target
