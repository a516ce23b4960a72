"""What is compiled ahead, and what is not; `test_wheel` has the other case."""

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_pictures_alone_are_compiled_alone(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "jellycage.sim.warm_up", "pictures"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        stdin=subprocess.PIPE,
    )
    assert process.wait(300) == 0
    process.stdin.close()
    kept = {path.name.split(".")[0] for path in tmp_path.rglob("*.nbi")}
    assert "picture_kernels" in kept and "newton_kernels" not in kept
    assert {path.name for path in tmp_path.rglob("warm_*")} == {"warm_pictures"}
