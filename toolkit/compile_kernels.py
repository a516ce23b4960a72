"""One way to compile a kernel, and a safe place to keep what was compiled.

Numba's on-disk cache does not notice a change in a helper that lives in another file, so the cache folder is named
after a digest of every `*_kernels.py` of the packages that lie beside this one, and of the tables that are frozen into
them: `lattice.py`, and the tables of families in the `__init__.py` of their chapters, whose order numbers the members.
It goes under NUMBA_CACHE_DIR if the user set one, else under the user's cache folder, else (read-only home) under the
temporary folder.
"""

import hashlib
import os
import sys
import tempfile
from pathlib import Path

import numba
from numba.core.typing.templates import infer_global
from numba.experimental import structref
from numba.extending import models, register_model

PACKAGES = ("toolkit", "sim")
FROZEN = ("*_kernels.py", "lattice.py", "__init__.py")
COMPILING = "compiling, first run only"  # what progress says meanwhile


def kernel_digest() -> str:
    """Digest of every kernel source, the Python and the numba version: 16 hex digits."""
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256(f"{sys.version_info[:2]} {numba.__version__}".encode())
    for package in PACKAGES:
        sources = [(root / package).rglob(name) for name in FROZEN]
        for path in sorted(path for found in sources for path in found):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_folders() -> list[Path]:
    """Where compiled code may be kept, best place first."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(os.environ["NUMBA_CACHE_DIR"])]
    if sys.platform == "win32":
        user = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        user = str(Path.home() / "Library" / "Caches")
    else:
        user = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return [Path(user) / "jellycage", Path(tempfile.gettempdir()) / f"jellycage-{_user_id()}"]


def _user_id() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def choose_cache_folder() -> Path | None:
    """The first folder that can be written, made if needed; None if there is none."""
    # Numba keeps the code of every install apart; so does the name, or `is_compiled` would see another's.
    place = hashlib.sha256(str(Path(__file__).resolve()).encode()).hexdigest()[:8]
    name = f"{kernel_digest()}-{place}"
    return next((base / name for base in cache_folders() if _writable(base / name)), None)


CACHE_FOLDER = choose_cache_folder()
if CACHE_FOLDER is not None:
    numba.config.CACHE_DIR = str(CACHE_FOLDER)


def njit(function):
    """Compile lazily, keep the machine code on disk where possible, divide like numpy (no exceptions)."""
    is_kept = CACHE_FOLDER is not None
    return numba.njit(cache=is_kept, error_model="numpy", no_cfunc_wrapper=True)(function)


class CalledType(numba.types.Dispatcher):
    """The type, in kernels, of a function made by `njit_called`."""

    def get_call_type(self, context, args, kws):
        """As ever, but while types are still being found out a count that starts at 0 is no type of its own."""
        args = [numba.types.unliteral(arg) for arg in args]
        return super().get_call_type(context, args, kws)


register_model(CalledType)(models.OpaqueModel)

CALLED = []
"""What `njit_called` makes, which types hold weakly. Held by the functions it would get into the keys of the cache."""


def njit_called(function, **options):
    """`njit` for a function that only kernels call: compiled with the first one that does, without a door from Python.

    The door takes about half of the time that compiling a small function takes. Called from Python it is Python.
    """
    doorless = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **options}
    # Not `register_jitable`, which compiles a function twice: for kernels with a door, and for those without.
    compiled = numba.njit(error_model="numpy", **doorless)(function)
    CALLED.append(compiled)
    infer_global(function, CalledType(compiled))
    return function


def njit_forwarding(function):
    """`njit_called` for a function that does little but call another one: its code is put where it is called.

    Matrices are passed value by value, so each call in between would copy some thirty numbers.
    """
    return njit_called(function, forceinline=True)


def njit_borrowing(function):
    """`njit` for a kernel that makes no arrays: without counting who holds those that it is given.

    What is put inside (`njit_inside`) would count every array it is handed, at each call, with locked instructions.
    """
    kernel = njit(function)
    kernel.targetoptions["_nrt"] = False
    return kernel


def njit_inside(function):
    """`njit` for a part of one larger kernel: compiled with it and not once more on its own.

    Whatever a function calls is optimised again with it, so deep calls of large functions multiply the time that
    compiling takes.
    """
    return numba.njit(inline="always", error_model="numpy")(function)


def njit_as(name: str, compiled=njit):
    """`njit`, or another way to compile, for a function made inside another one, which must have a name of its own.

    Numba tells compiled functions apart by name and argument types alone. Two of one name that were compiled by
    different processes and then read from disk would be taken for each other.
    """

    def named(function):
        function.__name__ = function.__qualname__ = name
        return compiled(function)

    return named


@structref.register
class Reference(numba.types.StructRef):
    """The type, in kernels, of named values behind one pointer; see `by_reference`."""


def by_reference(tuple_class):
    """A function for kernels that puts the values of a NamedTuple behind one pointer: `function(*values)`.

    A tuple is passed to a kernel value by value, ten numbers per array, and compiling that takes the longer the more
    kernels hand it on. Attributes read alike from both; before a loop they should be read from a reference, since a
    store to any array might change it. References stay inside the kernel that made them.
    """

    def refer(*values):
        return tuple_class(*values)

    structref.define_constructor(refer, Reference, tuple_class._fields)
    return refer


def is_compiled() -> bool:
    """Whether a whole cage was built before with this code: its last kernel, the check's, is on disk."""
    return CACHE_FOLDER is not None and any(CACHE_FOLDER.rglob("quality_kernels.*.nbi"))
