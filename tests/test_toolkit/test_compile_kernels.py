"""Compiled code is kept where it can be written, and never outlives its source."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jellycage.toolkit import compile_kernels
from jellycage.toolkit.compile_kernels import cache_folders, choose_cache_folder, kernel_digest

TOOLKIT = Path(compile_kernels.__file__).parent


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the package that the digest looks at instead of the real one."""
    shutil.copytree(TOOLKIT, tmp_path / "toolkit", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(compile_kernels, "__file__", str(tmp_path / "toolkit/compile_kernels.py"))
    return tmp_path


def test_the_digest_follows_every_kernel_file_and_nothing_else(copy):
    seen = [kernel_digest()]
    assert kernel_digest() == seen[0]
    (copy / "toolkit" / "mesh" / "mesh.py").write_text("# changed\n")
    assert kernel_digest() == seen[0]
    kernels = sorted((copy / "toolkit").rglob("*_kernels.py"))
    assert len(kernels) > 20
    for path in kernels:
        path.write_bytes(path.read_bytes() + b"\n# changed\n")
        seen.append(kernel_digest())
    (copy / "sim").mkdir()
    (copy / "sim" / "contact_kernels.py").write_text("")
    seen.append(kernel_digest())
    assert len(set(seen)) == len(seen)


def test_the_digest_is_the_same_wherever_the_package_lies(copy, monkeypatch):
    for package in compile_kernels.PACKAGES[1:]:
        if (TOOLKIT.parent / package).is_dir():
            shutil.copytree(TOOLKIT.parent / package, copy / package)
    there = kernel_digest()
    monkeypatch.setattr(compile_kernels, "__file__", str(TOOLKIT / "compile_kernels.py"))
    assert kernel_digest() == there


def test_the_digest_follows_tables_that_are_frozen_into_kernels(copy):
    """Also those of families, in whose order kernels number their members."""
    chapter = copy / "sim" / "materials"
    chapter.mkdir(parents=True)
    (chapter / "__init__.py").write_text("LAWS = (A, B)\n")
    for path in (copy / "toolkit" / "cage" / "lattice.py", chapter / "__init__.py"):
        before = kernel_digest()
        path.write_bytes(path.read_bytes() + b"\n# changed\n")
        assert kernel_digest() != before


def test_numbas_own_cache_setting_is_respected(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "mine"))
    assert cache_folders() == [tmp_path / "mine"]
    assert choose_cache_folder().parent == tmp_path / "mine"
    assert choose_cache_folder().name.startswith(kernel_digest())
    assert choose_cache_folder().is_dir()


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="XDG is for other systems")
def test_the_users_cache_folder_comes_first(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert choose_cache_folder().parent == tmp_path / "jellycage"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="XDG is for other systems")
def test_a_home_that_cannot_be_written_falls_back_to_the_temporary_folder(tmp_path, monkeypatch):
    # A file where the folder should be: refused for every user, root too.
    (tmp_path / "home").write_text("")
    (tmp_path / "tmp").mkdir()
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(compile_kernels.tempfile, "tempdir", str(tmp_path / "tmp"))
    folder = choose_cache_folder()
    assert folder.parent.parent == tmp_path / "tmp" and folder.is_dir()


def test_without_any_folder_kernels_still_compile(tmp_path):
    # In a process of its own, because the choice is made at import.
    (tmp_path / "file").write_text("")
    code = (
        "from jellycage.toolkit import compile_kernels as c\n"
        "import numpy as np\n"
        "assert c.CACHE_FOLDER is None and not c.is_compiled()\n"
        "assert c.njit(lambda x: x + 1)(2) == 3\n"
        "assert np.isinf(c.njit(lambda x: 1.0 / x)(0.0))\n"
    )
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "file" / "below"),
    }
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
def test_the_next_process_compiles_nothing_again(tmp_path):
    # A kernel made by a factory, whose key in the cache holds what it is made of.
    (tmp_path / "again.py").write_text(
        "from jellycage.toolkit.compile_kernels import njit_as, njit_called\n"
        "@njit_called\n"
        "def twice(x):\n"
        "    return 2 * x\n"
        "def made(inner):\n"
        "    @njit_as('one_more')\n"
        "    def outer(x):\n"
        "        return inner(x) + 1\n"
        "    return outer\n"
        "print(made(twice)(20))\n"
    )
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "compiled"),
    }
    kept = []
    for _ in range(2):
        command = [sys.executable, str(tmp_path / "again.py")]
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert result.stdout == "41\n", result.stderr
        kept.append(sorted(path.name for path in tmp_path.rglob("*.nb?")))
    assert kept[0] and kept[1] == kept[0]
