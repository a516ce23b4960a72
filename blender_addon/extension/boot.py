"""Started by path in a process of its own: finds what the extension brought along, and runs the worker.

    PYTHON -s -X utf8 boot.py JOB

The packages come from places that only this process looks in; Blender's own `sys.path` is left alone.
"""

import os
import runpy
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

if __name__ == "__main__":
    # The folder of this file would come first, and other packages of the user's may be called `sim`.
    sys.path[:1] = [os.path.join(HERE, "vendor")]
    packages = os.environ.get("JELLYCAGE_PACKAGES")
    if packages:
        sys.path.insert(1, packages)
    runpy.run_module("jellycage.sim.worker", run_name="__main__", alter_sys=True)
