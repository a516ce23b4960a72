"""What is compiled ahead, and what is not."""

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("names", [("tet",), ("pictures",)], ids=" ".join)
def test_only_what_is_named_is_compiled(tmp_path, names):
    """Blender asks for elements alone, and never draws."""
    process = subprocess.Popen(
        [sys.executable, "-m", "jellycage.sim.warm_up", *names],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        stdin=subprocess.PIPE,
    )
    assert process.wait(300) == 0
    process.stdin.close()
    kept = {path.name.split(".")[0] for path in tmp_path.rglob("*.nbi")}
    marks = {path.name for path in tmp_path.rglob("warm_*")}
    assert ("picture_kernels" in kept) == ("pictures" in names)
    for name in ("newton_kernels", "prediction_kernels", "strikes_kernels"):
        assert (name in kept) == ("tet" in names)
    assert marks == {f"warm_{name}" for name in names}
