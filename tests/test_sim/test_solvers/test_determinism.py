"""A simulation is the same bit for bit, however many threads may run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[2]
THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

SCRIPT = """
import hashlib
import numpy as np
from beams import beam_hexes, beam_tets, end_nodes
from stepping import OneBody
from jellycage import sim

for beam, material in ((beam_tets, sim.Corotated()), (beam_hexes, sim.NeoHookean())):
    cage = sim.Cage(*beam(8, 4, 4))
    weights = np.random.default_rng(0).dirichlet(np.ones(cage.elements.shape[1]), 6)
    inner = sim.embedded_points(cage.elements, np.arange(len(cage.elements))[-6:], weights)
    start = inner.positions(cage.nodes)
    body = sim.SoftBody(
        cage,
        material,
        pins=[
            sim.Pin(sim.node_points(end_nodes(cage.nodes)[0])),
            sim.Pin(inner, sim.Keyed([0.0, 0.5], [start, start + [0.0, 0.5, 0.5]])),
        ],
        stiffness_damping=0.001,
        air_drag=1.0,
    )
    run = OneBody(body, 0.02)
    for _ in range(20):
        run.step()
    assert np.abs(run.x - cage.nodes).max() > 0.1
    print(hashlib.sha256(run.x.tobytes() + run.v.tobytes()).hexdigest())
"""


def hashes(threads):
    """What the script prints in a process of its own, by number of threads."""
    env = {**os.environ, "PYTHONPATH": str(TESTS)}
    env.update(dict.fromkeys(THREADS, str(threads)))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.slow
def test_one_thread_and_several_give_one_result():
    one = hashes(1)
    assert len(one) == 2
    assert hashes(2) == one
    assert hashes(2) == one  # and again
