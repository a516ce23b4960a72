"""Blender for the tests of this folder: the extension's zip, built once and installed once into an empty folder.

Compiling the kernels takes most of the time, so all scripts share that folder; it cannot be copied, since numba knows
its files by their path.

    JELLYCAGE_BLENDER           4.2, 4.5 (unless told), 5.0 or 5.2: the Blender in .venv-blender-VERSION
    JELLYCAGE_BLENDER_PYTHON    or the Python of any Blender module
    JELLYCAGE_WHEELS            where wheels are kept, build/wheels unless told
"""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPTS = ROOT / "tests" / "in_blender"
VERSION = os.environ.get("JELLYCAGE_BLENDER", "4.5")
PATIENCE = 600.0  # seconds for one script, on a machine that has other things to do
OFFLINE = (["unshare", "--net"], ["unshare", "--map-root-user", "--net"])


def blender_python():
    """The Python that has Blender as a module."""
    given = os.environ.get("JELLYCAGE_BLENDER_PYTHON")
    return Path(given) if given else ROOT / f".venv-blender-{VERSION}" / "bin" / "python"


@cache
def without_network():
    """What to put before a command so that it has no network; nothing where that is not allowed."""
    for prefix in OFFLINE:
        if (
            shutil.which(prefix[0])
            and not subprocess.run([*prefix, "true"], capture_output=True).returncode
        ):
            return prefix
    return []


class Blender:
    """Runs scripts inside Blender, each once, and keeps what they told."""

    def __init__(self, folder):
        self.folder, self.python, self.told = folder, blender_python(), {}
        self.user = folder / "user"
        self.user.mkdir()
        self.zip = self.build()

    def build(self):
        """The extension for the Python of this Blender."""
        code = "import sys; print('cp%d%d' % sys.version_info[:2])"
        abi = self.run_command([self.python, "-c", code]).stdout.strip()
        output = self.folder / "dist"
        command = [sys.executable, ROOT / "blender_addon" / "build_extension.py"]
        command += ["--platform", "linux-x64", "--abi", abi, "--output", output]
        if "JELLYCAGE_WHEELS" in os.environ:
            command += ["--wheels", os.environ["JELLYCAGE_WHEELS"]]
        self.run_command(command)
        (path,) = output.glob("*.zip")
        return path

    def run_command(self, command, *, may_fail=False):
        environment = {name: v for name, v in os.environ.items() if not name.startswith("PYTHON")}
        environment["BLENDER_USER_RESOURCES"] = str(self.user)
        done = subprocess.run(
            [str(word) for word in command],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PATIENCE,
        )
        assert may_fail or done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done

    def run_script(self, path, *arguments):
        """The line of JSON that a script prints, run inside Blender without a network."""
        command = [*without_network(), self.python, path, *arguments]
        done = self.run_command(command, may_fail=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        assert lines, f"{Path(path).name} told nothing: {done.stderr[-2000:]}"
        return json.loads(lines[-1])

    def claims(self, script, *arguments):
        """What the claims of a script came to, {name: "" or what failed}; tried once for all tests."""
        if script not in self.told:
            folder = self.folder / Path(script).stem
            folder.mkdir()
            try:
                self.told[script] = self.run_script(SCRIPTS / script, folder, *arguments)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                self.told[script] = error
        if isinstance(self.told[script], Exception):
            raise self.told[script]
        return self.told[script]["claims"]


@pytest.fixture(scope="session")
def blender(tmp_path_factory):
    """Blender with the extension installed and its kernels compiled."""
    if not blender_python().exists():
        pytest.skip(f"no Blender in {blender_python().parent.parent.name}: `make test` sets it up")
    found = Blender(tmp_path_factory.mktemp("blender"))
    found.claims("installing.py", found.zip)
    yield found
    print()
    for script, told in found.told.items():
        if isinstance(told, dict) and told.get("facts"):
            print(f"{script}: {json.dumps(told['facts'], ensure_ascii=False)}")
