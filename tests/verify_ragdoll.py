"""Every promise of rigid bodies, rods and ragdolls, as a table: part of `make verify`. Exit 1 if one is broken.

The unit tests hold the rest. Figures of the thesis and timings are in benchmarks/ragdoll.py, peers in
benchmarks/chain_peers.py, Blender in `make test-blender`.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
folders = ("tests", "tests/test_sim/test_rigid", "tests/test_sim/test_ragdoll")
sys.path[:0] = [str(ROOT / folder) for folder in folders]

import test_joints  # noqa: E402
import test_ragdoll  # noqa: E402
import test_rod_motion  # noqa: E402
import test_rods  # noqa: E402
import test_world  # noqa: E402
from random_ragdolls import GAP, REACH, drop  # noqa: E402
from verify_report import Report  # noqa: E402

from jellycage.sim.ragdoll.ragdoll import SPINES  # noqa: E402

DROPS = 200


def verify_rods(out):
    """Arcs, Jacobians, statics and the locus of Fig. 7.4."""
    rng, worst = np.random.default_rng(0), 0.0
    for bend in test_rods.BENDS:
        for _ in range(50):
            worst = max(worst, np.abs(test_rods.drawn_rod(rng, bend).measure()[0][:3]).max())
    out.line("an arc satisfies length and curve", f"{worst:.1e}", worst < 1e-12)
    for stiffness in (10.0, 30.0, 200.0):
        world = test_rod_motion.settled(
            test_rod_motion.loaded_rod(
                bend_stiffness=stiffness, twist_stiffness=10.0, bend_damping=4.0, twist_damping=1.0
            )
        )
        left = world.residuals()
        out.line(
            f"end load, {stiffness:g} N m/rad: length and curve off by",
            f"{abs(left.rod_length[0]):.1e} m, {left.rod_angle[0]:.1e} rad",
            abs(left.rod_length[0]) < 1e-6 and left.rod_angle[0] < 1e-6,
        )
    for joints in (1, 3, 6, 12):
        apart = max(
            np.hypot(*(np.array([np.sinc(p / np.pi), 0.5 * p * np.sinc(0.5 * p / np.pi) ** 2])
                       - test_rod_motion.chain_end(p, joints)))
            for p in np.linspace(0.05, 2.5, 30)
        )  # fmt: skip
        out.line(
            f"Fig. 7.4, {joints} joints: end of the chain from the rod's",
            f"{apart:.4f} L",
            apart < 0.5 / joints**2,
        )


def verify_tests(out):
    """Physics, Jacobians and the transition, by the tests that hold them."""
    runs = (
        (
            "precession of a top within 2 %",
            test_world.test_a_fast_top_precesses_at_the_analytic_rate,
            (60.0, 150.0, 250.0),
        ),
        (
            "box below the angle of friction rests",
            test_world.test_a_box_rests_just_below_the_angle_of_friction,
            (0.3, 0.6, 1.0),
        ),
        (
            "box above it slides as Coulomb says",
            test_world.test_a_box_slides_above_it_as_coulomb_says,
            (0.3, 0.6, 1.0),
        ),
        ("ten boxes stand for 10 s", test_world.test_ten_boxes_stand_for_ten_seconds, (0.0, 0.03)),
        (
            "momentum in collisions",
            test_world.test_balls_that_meet_head_on_part_as_newton_says,
            (0.0, 0.5, 1.0),
        ),
        (
            "no tunnelling",
            test_world.test_a_fast_ball_does_not_pass_through_a_thin_plate,
            (10.0, 60.0, 300.0, 1000.0),
        ),
        ("Jacobians of rods", test_rods.test_jacobians_are_those_of_differences, test_rods.BENDS),
        (
            "Jacobians of joints",
            test_joints.test_swing_and_twist_have_the_jacobians_of_differences,
            range(10),
        ),
        (
            "first frame is the animated pose",
            test_ragdoll.test_the_first_frame_is_the_last_of_the_animation,
            SPINES,
        ),
        (
            "nothing jumps at the transition",
            test_ragdoll.test_nothing_jumps_at_the_transition,
            SPINES,
        ),
        (
            "falls, feet do not sink, comes to rest",
            test_ragdoll.test_the_walker_falls_and_comes_to_rest_on_the_ground,
            SPINES,
        ),
    )
    for claim, test, cases in runs:
        failed = []
        for case in cases:
            try:
                test(case)
            except AssertionError as error:
                failed.append(f"{case}: {str(error).splitlines()[0]}")
        out.line(claim, f"{len(cases) - len(failed)} of {len(cases)} cases", not failed)
        out.notes(failed)


def verify_drops(out):
    """Random ragdolls on random surroundings."""
    with ProcessPoolExecutor(2) as pool:
        outcomes = list(pool.map(drop, range(DROPS)))
    finite = sum(o.stray < REACH for o in outcomes)
    whole = sum(o.is_whole for o in outcomes)
    out.line(f"{DROPS} ragdolls dropped: finite and near", f"{finite / DROPS:.1%}", finite == DROPS)
    out.line(
        f"{DROPS} ragdolls dropped: every gap under {GAP:.0%}",
        f"{whole / DROPS:.1%}",
        whole >= 0.99 * DROPS,
    )
    out.notes(f"seed {o.seed}: {o.text}: gap {o.gap:.2%}" for o in outcomes if not o.is_whole)


def main():
    out = Report()
    verify_rods(out)
    verify_tests(out)
    verify_drops(out)
    out.close()


if __name__ == "__main__":
    main()
