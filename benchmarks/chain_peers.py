"""Our rigid bodies beside MuJoCo and PyBullet: a falling chain, with the same computing time for each.

    python benchmarks/chain_peers.py [--budgets 2 5 20] [--json FILE]

Three boxes, held together and to the world by three ball joints, are let go lying horizontally and fall for ten
seconds without any damping. The peers (`pip install mujoco pybullet`) hold free bodies by `equality/connect` and by
point-to-point constraints. A budget is computing time [ms] for a second of motion, on one thread. From what a step
costs, a minimum of many runs, follow the steps per second that a budget pays for; so each setting of a grid has as many
as it can afford. Each system is stepped by one call for a second: no cost of Python counts, nor does looking at it.

The motion is chaotic: only errors are compared, and they are those of several starts that differ by a hair, here in the
direction of gravity. At 60 Hz:

    gap     distance of the two anchors of a joint / length of a link, the largest of all
    mean    the same of the worst joint, on average over time
    drift   (mean energy of the last second - energy of the start) / (m g L) of the whole chain; root
            mean square of the starts, which leaves noise of a third or so
    swing   the largest departure of the energy, on the same scale

All systems but MuJoCo's Runge-Kutta find velocities half a step before the poses they are given with (positions move
by the new velocity), so their energy has the mean of the velocities before and after the pose.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy is imported

import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
from jellycage.sim.errors import SolverError  # noqa: E402
from jellycage.sim.maths import quaternions  # noqa: E402
from jellycage.sim.rigid.body import RigidBody  # noqa: E402
from jellycage.sim.rigid.joints import WORLD, Ball  # noqa: E402
from jellycage.sim.rigid.world import RigidSettings, RigidWorld  # noqa: E402
from jellycage.sim.shapes import Box  # noqa: E402

LINKS, LENGTH, WIDTH = 3, 0.5, 0.1  # [m]
MASS = 1000.0 * LENGTH * WIDTH**2  # [kg]
INERTIA = MASS / 12.0 * np.array([2.0 * WIDTH**2, LENGTH**2 + WIDTH**2, LENGTH**2 + WIDTH**2])
CENTRES = np.array([(LENGTH * (i + 0.5), 0.0, 0.0) for i in range(LINKS)])
GRAVITY = 9.81  # [m/s^2]
TILTS = (0.0, 0.001, 0.002, 0.003)
"""Of gravity, one for each start [rad]."""
SECONDS, RATE = 10, 60
WRONG = 0.5
"""Gap or swing from which on a run counts as unstable."""


class OurChain:
    """Links and joints in a RigidWorld."""

    name = "Jellycage"
    is_late = True

    @staticmethod
    def grid():
        """Settings to try."""
        return [{"iterations": n} for n in (4, 8, 12, 16, 20, 25, 30, 40, 60, 80, 120)]

    def __init__(self, steps, gravity, iterations):
        self.h = 1.0 / steps
        bodies = [RigidBody([Box((LENGTH, WIDTH, WIDTH))], c, mass=MASS) for c in CENTRES]
        joints = [
            Ball(a=i - 1 if i else WORLD, b=i, point=(LENGTH * i, 0, 0)) for i in range(LINKS)
        ]
        settings = RigidSettings(iterations=iterations, sleep_speed=0.0)
        excluded_pairs = [(a, b) for b in range(LINKS) for a in range(b)]
        self.world = RigidWorld(
            bodies, joints, gravity=gravity, settings=settings, excluded_pairs=excluded_pairs
        )

    def step(self, count):
        """Advance by so many steps."""
        self.world.advance(count * self.h, count)

    run = step

    def read(self):
        """(p, q, v, w) of the links: centres, orientations, velocities and angular velocities in the world."""
        state = self.world.state
        return [array[:LINKS].copy() for array in (state.p, state.q, state.v, state.w)]

    def close(self):
        """Give back what the run held."""


class MujocoChain:
    """Free bodies held by `equality/connect`.

    With h the step, a constraint pulls with the acceleration -(stiffness / h^2) gap - (damping / h) speed of the gap,
    the direct form of solref, at the hardest impedance there is (solimp 0.9999). Found by trial: with semi-implicit
    Euler (1, 1) would close the gap in one step if the motion were linear, and stiffer ones hold better, until
    4 - 2 damping, where they are unstable. With Runge-Kutta critical damping with a time constant of 2 to 3 steps is
    best; 2 steps, (0.25, 1), is the least that refsafe allows. Newton's method needs one iteration; CG gives the same
    for a little more, PGS of few iterations is cheaper but coarser; implicitfast is Euler at a higher price.
    """

    name = "MuJoCo"
    is_late = True

    @staticmethod
    def grid():
        """Settings to try."""
        euler = [(0.25, 1.0), (1.0, 1.0), (2.0, 0.8), (2.6, 0.6), (2.5, 0.5), (3.0, 0.4)]
        critical = [(1.0 / t**2, 2.0 / t) for t in (1.5, 2.0, 3.0, 4.0)]
        rows = [("Euler", "Newton", 100, *pull) for pull in euler]
        rows += [("RK4", "Newton", 100, *pull) for pull in critical]
        rows += [("implicitfast", "Newton", 100, 2.6, 0.6), ("Euler", "PGS", 5, 1.0, 1.0)]
        rows += [("Euler", "CG", 20, 2.6, 0.6), ("RK4", "CG", 20, 0.25, 1.0)]
        names = ("integrator", "solver", "iterations", "stiffness", "damping")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def __init__(self, steps, gravity, integrator, solver, iterations, stiffness, damping):
        import mujoco

        spec = mujoco.MjSpec()
        option = spec.option
        option.timestep, option.gravity, option.iterations = 1.0 / steps, gravity, iterations
        option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        option.solver = getattr(mujoco.mjtSolver, f"mjSOL_{solver.upper()}")
        option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        # refsafe would soften every solref to 2 h; autoreset would hide that a run broke.
        flags = mujoco.mjtDisableBit
        option.disableflags = flags.mjDSBL_REFSAFE | flags.mjDSBL_CONTACT | flags.mjDSBL_AUTORESET
        for i, centre in enumerate(CENTRES):
            body = spec.worldbody.add_body(name=f"link {i}", pos=centre, explicitinertial=True)
            body.mass, body.inertia, body.ipos = MASS, INERTIA, (0.0, 0.0, 0.0)
            body.add_freejoint()
            joint = spec.add_equality(type=mujoco.mjtEq.mjEQ_CONNECT)
            joint.objtype = mujoco.mjtObj.mjOBJ_BODY
            joint.name1, joint.name2 = f"link {i}", f"link {i - 1}" if i else "world"
            joint.data[:3] = -0.5 * LENGTH, 0.0, 0.0
            joint.solref = -stiffness * steps**2, -damping * steps
            joint.solimp = 0.9999, 0.9999, 0.001, 0.5, 2.0
        mujoco.set_mju_user_warning(lambda text: None)
        self.is_late = integrator != "RK4"
        self.model, self.mj_step = spec.compile(), mujoco.mj_step
        self.data = mujoco.MjData(self.model)

    def step(self, count):
        """Advance by so many steps."""
        self.mj_step(self.model, self.data, nstep=count)

    run = step

    def read(self):
        """(p, q, v, w) of the links."""
        x, v = self.data.qpos.reshape(LINKS, 7), self.data.qvel.reshape(LINKS, 6)
        q = x[:, 3:].copy()
        return x[:, :3].copy(), q, v[:, :3].copy(), quaternions.turned(q, v[:, 3:])

    def close(self):
        """Give back what the run held."""


class BulletChain:
    """Bodies held by point-to-point constraints.

    Found by trial: the direct solver (Dantzig) keeps energy better than sequential impulses (SI) of any number of
    iterations, which hold as well for a little less. An erp, the share of the gap that a step takes away, of 1.8 is
    better than 1; with 2 it is unstable. The force of a constraint is bounded unless told otherwise. Rigid bodies
    (maximal coordinates) are cheaper than multibodies.
    """

    name = "PyBullet"
    is_late = True

    @staticmethod
    def grid():
        """Settings to try."""
        rows = [("rigid", "Dantzig", 1, erp) for erp in (1.0, 1.4, 1.6, 1.8, 1.9)]
        rows += [("rigid", "SI", n, erp) for n in (5, 10, 20) for erp in (0.8, 1.4, 1.8)]
        rows += [("multi", "Dantzig", 1, 1.8), ("multi", "SI", 5, 1.8)]
        names = ("bodies", "solver", "iterations", "erp")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def __init__(self, steps, gravity, bodies, solver, iterations, erp):
        with silence():
            import pybullet
            from pybullet_utils.bullet_client import BulletClient

            self.client = BulletClient(pybullet.DIRECT)
            kinds = {"SI": pybullet.CONSTRAINT_SOLVER_LCP_SI}
            kinds["Dantzig"] = pybullet.CONSTRAINT_SOLVER_LCP_DANTZIG
            self.client.setPhysicsEngineParameter(
                fixedTimeStep=1.0 / steps, numSubSteps=0, numSolverIterations=iterations, erp=erp,
                globalCFM=0.0, solverResidualThreshold=0.0, constraintSolverType=kinds[solver],
            )  # fmt: skip
        self.steps = steps
        self.client.setGravity(*gravity)
        half = [0.5 * LENGTH, 0.5 * WIDTH, 0.5 * WIDTH]
        shape = self.client.createCollisionShape(pybullet.GEOM_BOX, halfExtents=half)
        anchor = self._body(0.0, shape, (-0.5 * LENGTH, 0.0, 0.0), bodies)
        self.links = [self._body(MASS, shape, centre, bodies) for centre in CENTRES]
        for a, b in zip([anchor, *self.links], self.links, strict=False):
            ends = [half[0], 0.0, 0.0], [-half[0], 0.0, 0.0]
            point = pybullet.JOINT_POINT2POINT
            joint = self.client.createConstraint(a, -1, b, -1, point, [0.0, 0.0, 0.0], *ends)
            self.client.changeConstraint(joint, maxForce=1e12, erp=erp)

    def _body(self, mass, shape, centre, kind):
        """A box that touches nothing and never sleeps."""
        body = self.client.createMultiBody(
            mass, shape, basePosition=centre, useMaximalCoordinates=kind == "rigid"
        )
        self.client.setCollisionFilterGroupMask(body, -1, 0, 0)
        self.client.changeDynamics(
            body, -1, linearDamping=0.0, angularDamping=0.0,
            activationState=self.client.ACTIVATION_STATE_DISABLE_SLEEPING,
        )  # fmt: skip
        return body

    def step(self, count):
        """Advance by so many steps, one by one."""
        for _ in range(count):
            self.client.stepSimulation()

    def run(self, count):
        """Advance by so many steps in one call."""
        self.client.setPhysicsEngineParameter(fixedTimeStep=count / self.steps, numSubSteps=count)
        self.client.stepSimulation()

    def read(self):
        """(p, q, v, w) of the links."""
        poses = [self.client.getBasePositionAndOrientation(link) for link in self.links]
        speeds = [self.client.getBaseVelocity(link) for link in self.links]
        p, q = (np.array(part) for part in zip(*poses, strict=True))
        v, w = (np.array(part) for part in zip(*speeds, strict=True))
        return p, q[:, [3, 0, 1, 2]], v, w

    def close(self):
        """Give back what the run held."""
        self.client.disconnect()


@contextmanager
def silence():
    """Nothing is printed, not even by compiled code."""
    sys.stdout.flush(), sys.stderr.flush()
    kept, nowhere = [os.dup(1), os.dup(2)], os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1), os.dup2(nowhere, 2)
    try:
        yield
    finally:
        for number, old in enumerate(kept, start=1):
            os.dup2(old, number), os.close(old)
        os.close(nowhere)


@dataclass
class Candidate:
    """A system with settings, what a step of it costs, and what it reaches within a budget."""

    chain: type
    settings: dict
    cost: float = np.inf
    """Of a step [s]."""
    results: dict = field(default_factory=dict)
    """By budget [ms]."""

    def start(self, steps, tilt=0.0):
        """The chain before it falls, for so many steps per second."""
        return self.chain(steps, gravity_at(tilt), **self.settings)

    def label(self):
        """The settings in words."""
        return ", ".join(
            f"{key} {value:.3g}" if isinstance(value, int | float) else value
            for key, value in self.settings.items()
        )


@dataclass(frozen=True)
class Result:
    """Errors of a candidate within a budget; see the head of the file."""

    steps: int
    """Per second."""
    gap: float
    gap_mean: float
    drift: float
    swing: float
    drifts: list[float]
    """With sign, one for each start."""


def gravity_at(tilt):
    """Gravity turned by an angle [rad] towards the chain."""
    return np.array([GRAVITY * np.sin(tilt), 0.0, -GRAVITY * np.cos(tilt)])


def measure_costs(candidates, rounds=6, steps=500):
    """Set what a step costs: the least of several rounds, each through the first seconds of the fall."""
    for candidate in candidates * rounds:
        chain = candidate.start(steps)
        chain.run(2)
        for _ in range(2):
            started = time.perf_counter()
            chain.run(steps)
            seconds = time.perf_counter() - started
            candidate.cost = min(candidate.cost, seconds / steps)
        chain.close()


def real_ms(candidate, steps, runs=5):
    """Computing time [ms] per second of the whole motion, as the least of several runs."""
    best = np.inf
    for _ in range(runs):
        chain = candidate.start(steps)
        started = time.perf_counter()
        for _ in range(SECONDS):
            chain.run(steps)
        best = min(best, time.perf_counter() - started)
        chain.close()
    return 1e3 * best / SECONDS


def watch(chain, steps):
    """(p, q, v, w) at 60 Hz, each with a row per sample and link."""
    samples, done = [], 0
    for at in np.unique(np.round(np.arange(1, SECONDS * RATE + 1) * steps / RATE).astype(int)):
        if at > done:
            chain.step(int(at) - done)
            done = int(at)
        p, q, v, w = chain.read()
        if chain.is_late:
            chain.step(1)
            done += 1
            _, _, v_next, w_next = chain.read()
            v, w = 0.5 * (v + v_next), 0.5 * (w + w_next)
        samples.append((p, q, v, w))
    return [np.array(part) for part in zip(*samples, strict=True)]


def errors(candidate, steps, tilt):
    """(gap of the worst joint, energy since the start) of each sample, or None if the run is unstable."""
    chain = candidate.start(steps, tilt)
    try:
        p, q, v, w = watch(chain, steps)
    except SolverError:
        return None
    finally:
        chain.close()
    if not all(np.isfinite(part).all() for part in (p, q, v, w)):
        return None
    turn = quaternions.as_matrices(q.reshape(-1, 4)).reshape(*q.shape[:2], 3, 3)
    arm = 0.5 * LENGTH * turn[..., 0]
    held_by = np.concatenate([np.zeros_like(p[:, :1]), (p + arm)[:, :-1]], axis=1)
    gap = np.linalg.norm(p - arm - held_by, axis=2).max(axis=1) / LENGTH
    spin = np.einsum("tlji,tlj->tli", turn, w)
    kinetic = 0.5 * MASS * (v**2).sum(axis=2) + 0.5 * (INERTIA * spin**2).sum(axis=2)
    potential = -MASS * (p - CENTRES) @ gravity_at(tilt)
    energy = (kinetic + potential).sum(axis=1) / (LINKS * MASS * GRAVITY * LINKS * LENGTH)
    is_stable = gap.max() < WRONG and np.abs(energy).max() < WRONG
    return (gap, energy) if is_stable else None


def result(candidate, budget):
    """What a candidate reaches within a budget [ms], or None if it is unstable."""
    steps = max(1, int(1e-3 * budget / candidate.cost))
    runs = []
    for tilt in TILTS:
        run = errors(candidate, steps, tilt)
        if run is None:
            return None
        runs.append(run)
    gaps, energies = (np.array(part) for part in zip(*runs, strict=True))
    drifts = energies[:, -min(RATE, steps) :].mean(axis=1)  # the last second
    return Result(
        steps,
        float(gaps.max()),
        float(gaps.mean()),
        float(np.sqrt((drifts**2).mean())),
        float(np.abs(energies).max()),
        drifts.tolist(),
    )


def best(candidates, budget, measure):
    """The candidate with the least gap or drift."""
    stable = [c for c in candidates if c.results.get(budget)]
    return min(stable, key=lambda c: getattr(c.results[budget], measure), default=None)


def print_rows(candidates, budget):
    """The best of each system for gap and for drift; returns them as rows."""
    rows = []
    for name in dict.fromkeys(c.chain.name for c in candidates):
        of_system = [c for c in candidates if c.chain.name == name]
        for measure in ("gap", "drift"):
            chosen = best(of_system, budget, measure)
            if chosen is None:
                print(f"{budget:6g} {name:10s} {measure:6s} no setting is stable")
                continue
            reached = chosen.results[budget]
            ms = real_ms(chosen, reached.steps)
            print(
                f"{budget:6g} {name:10s} {measure:6s} {reached.steps:5d} {ms:6.2f}  {reached.gap:.1e}  "
                f"{reached.gap_mean:.1e}  {reached.drift:.1e}  {reached.swing:.1e}  {chosen.label()}",
                flush=True,
            )
            rows.append({"budget": budget, "system": name, "chosen_by": measure, "ms": ms,
                         "settings": chosen.settings, **asdict(reached)})  # fmt: skip
    return rows


def compare(candidates, budget):
    """Ours by the better peer: settings with the least gap, with the least drift, and one setting for both.

    The last is the hardest: one setting of ours against the best that any setting of a peer reaches, for gap and for
    drift apart.
    """
    ours = [c for c in candidates if c.chain is OurChain and c.results[budget]]
    names = dict.fromkeys(c.chain.name for c in candidates if c.chain is not OurChain)
    peers = [[c for c in candidates if c.chain.name == name] for name in names]
    least, ratios = {}, {}
    for measure in ("gap", "drift"):
        mine = best(ours, budget, measure)
        theirs = [c.results[budget] for c in (best(p, budget, measure) for p in peers) if c]
        if mine is None or not theirs:
            return {}
        least[measure] = min(getattr(r, measure) for r in theirs)
        ratios[f"least {measure}"] = [
            getattr(mine.results[budget], m) / min(getattr(r, m) for r in theirs)
            for m in ("gap", "drift")
        ]
    at_once = [[getattr(c.results[budget], m) / least[m] for m in ("gap", "drift")] for c in ours]
    chosen = min(range(len(ours)), key=lambda i: max(at_once[i]))
    ratios[f"both at once, {ours[chosen].label()}"] = at_once[chosen]
    for name, (gap, drift) in ratios.items():
        print(f"{budget:6g} ours / better peer: gap {gap:8.2g}, drift {drift:8.2g}   ({name})")
    return ratios


def installed(chain):
    """Whether a system can be run; says so if not."""
    try:
        chain(60, gravity_at(0.0), **chain.grid()[0]).close()
    except ImportError:
        print(f"{chain.name} is not installed")
        return False
    return True


def check_motion(chains):
    """Stop if the systems do not simulate the same chain: before chaos sets in they must agree."""
    ends = []
    for kind in chains:
        chain = kind(4000, gravity_at(0.0), **kind.grid()[-1])
        chain.run(2000)
        ends.append(chain.read()[0])
        chain.close()
    apart = np.ptp(ends, axis=0).max()
    assert apart < 2e-3 * LENGTH, f"after half a second the chains are {apart} m apart"


def main():
    """Print the table, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budgets", type=float, nargs="+", default=[2.0, 5.0, 20.0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--compile", action="store_true", help="compile our kernels, no more")
    arguments = parser.parse_args()
    if arguments.compile:
        return OurChain(60, gravity_at(0.0), 4).run(2)
    # Kernels that are read from the cache were measured up to twice as fast as in the process that compiles them.
    subprocess.run([sys.executable, __file__, "--compile"], check=True)
    chains = [chain for chain in (OurChain, MujocoChain, BulletChain) if installed(chain)]
    check_motion(chains)
    candidates = [Candidate(chain, settings) for chain in chains for settings in chain.grid()]
    measure_costs(candidates)
    print("budget system     least  steps     ms      gap     mean    drift    swing  settings")
    rows, ratios = [], {}
    for budget in arguments.budgets:
        for candidate in candidates:
            candidate.results[budget] = result(candidate, budget)
        rows += print_rows(candidates, budget)
        ratios[budget] = compare(candidates, budget)
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows, "ours / peer": ratios}, indent=1))


if __name__ == "__main__":
    main()
