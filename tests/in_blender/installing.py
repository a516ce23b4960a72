"""The zip, installed from disk into an empty user folder: what it brings, and what it leaves alone.

BLENDER_PYTHON installing.py FOLDER ZIP
"""

import os
import sys

import bpy
from claims import FACTS, FOLDER, MODULE, addon, assert_one_sentence, claim, try_all

ZIP = sys.argv[2]
PATH_BEFORE, MODULES_BEFORE = list(sys.path), set(sys.modules)


def check_facts():
    """What the worker's self-test says, in surroundings as they are found in studios."""
    if "check" not in FACTS:
        for name in ("sim", "numba"):
            (FOLDER / name).mkdir()
            (FOLDER / name / "__init__.py").write_text("raise RuntimeError('the wrong one')\n")
        os.chdir(FOLDER)
        os.environ.update(PYTHONPATH=str(FOLDER), PYTHONHOME=str(FOLDER), PYTHONSTARTUP="none")
        running, found = addon("running"), []

        def work(run):
            job = FOLDER / "check.json"
            addon("folders").write_json(job, {"task": "check"})
            found.append((yield from run.work_on(job)))

        running.start("Check", work)
        assert not running.error, f"{running.error}; {running.log[-5:]}"
        FACTS["check"] = found[0]
    return FACTS["check"]


@claim
def the_zip_installs_in_an_empty_user_folder():
    bpy.ops.extensions.package_install_files(
        filepath=ZIP, repo="user_default", enable_on_install=True
    )
    assert MODULE in bpy.context.preferences.addons


@claim
def only_blenders_own_folder_of_wheels_is_added_to_its_path():
    wheels = os.path.join(os.environ["BLENDER_USER_RESOURCES"], "extensions", ".local")
    added = [path for path in sys.path if path not in PATH_BEFORE]
    assert all(path.startswith(wheels) for path in added), added
    assert [path for path in sys.path if path not in added] == PATH_BEFORE


@claim
def the_worker_has_its_packages_from_the_extension_whatever_studios_set():
    wheels = os.path.join(os.environ["BLENDER_USER_RESOURCES"], "extensions", ".local")
    files = check_facts()["files"]
    for name in ("numba", "llvmlite", "scipy"):
        assert files[name].startswith(wheels), files
    assert not files["numpy"].startswith(wheels), files


@claim
def the_worker_runs_in_blenders_own_python():
    assert check_facts()["python"] == sys.version.split()[0]
    assert addon("child").python_path() == sys.executable


@claim
def python_is_found_where_the_program_is_blender():
    """As in a Blender that is no module, where `sys.executable` may be empty or Blender itself."""
    executable = sys.executable
    try:
        for sys.executable in ("", "/opt/blender/blender"):
            found = addon("child").python_path()
            assert os.path.dirname(found) == os.path.join(sys.prefix, "bin")
            assert os.path.basename(found).startswith("python")
    finally:
        sys.executable = executable


@claim
def the_cube_of_the_self_test_keeps_its_volume():
    assert check_facts()["volume_error_max"] < 0.05


@claim
def check_installation_says_versions():
    assert bpy.ops.jellycage.check_installation() == {"FINISHED"}
    running = addon("running")
    assert_one_sentence(running.message)
    assert running.message.startswith("Works: Python") and "numba" in running.message


@claim
def nothing_of_the_simulator_is_imported_in_blenders_process():
    new = {name.partition(".")[0] for name in set(sys.modules) - MODULES_BEFORE}
    assert not new & {"sim", "toolkit", "numba", "llvmlite", "scipy"}, new


if __name__ == "__main__":
    try_all(enable=False)
