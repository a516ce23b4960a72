"""How quadrature points that have lost their volume come back.

A point below the least volume is degenerate, and `treatment` says by which energy it comes back. Laws that need a
rotation take the linear energy in the frame that DAPD gave the point, which is fixed during a step; the others have a
way back of their own. Points that are still there after PATIENCE are rescued by a neo-Hookean energy: co-rotated bodies
have stable equilibria with inverted elements (a patch that snapped through, a limb wrung by a full turn), in which no
rotation helps but an energy that rises with lost volume does. That one is flat where an element has SHRUNK to a line or
a point; there the linear energy in DAPD's frame is the rescuer. Rescuers stiffen the longer it takes, and let go when
the point is sound again. A point that then falls back is rescued at once: something holds it so, or its material does:
by the linear law a sheet of Poisson's ratio 0.48 that is stretched by 0.6 both ways has a thickness below zero.
"""

from jellycage.sim.materials.laws_kernels import NEEDS_ROTATION
from jellycage.sim.maths.matrix3_kernels import cofactor, determinant, squared_size
from jellycage.sim.rotations.dapd_kernels import collapse_pair, pair_gradient, undegenerate
from jellycage.sim.rotations.isvd_kernels import ALPHA
from jellycage.sim.rotations.polar_kernels import polar_rotation
from jellycage.sim.soft.gradient_kernels import hex_gradient, tet_gradient
from jellycage.toolkit.compile_kernels import njit_as, njit_called

PATIENCE = 0.1  # time that a point has to come back before it is rescued [s], a few frames
SOUND = 0.8  # fraction of its rest volume above which a rescued point is on its way out
RELEASE = 0.25  # how fast it is let go, as a fraction of how fast it was taken
STIFFEST = 100.0  # times its material that a rescuer becomes at most
SHRUNK = 8  # added to the pair of a point that is about a line or a point
THIN = 0.1  # square of the largest area ratio below which it is
AS_MATERIAL, IN_FRAME, BY_VOLUME = 0, 1, 2


@njit_called
def treatment(law, pair, time):
    """Which energy a point has: its material's, the linear one in DAPD's frame or a neo-Hookean one; and a factor."""
    if pair == 0:
        return AS_MATERIAL, 1.0
    if time < PATIENCE:
        return (IN_FRAME if NEEDS_ROTATION[law] else AS_MATERIAL), 1.0
    factor = min(2.0 ** (time / PATIENCE - 1.0), STIFFEST)
    return (IN_FRAME if pair > SHRUNK else BY_VOLUME), factor


def degeneration_kernel(corners, gradient):
    @njit_as(f"follow_degeneration_{corners}")
    def follow_degeneration(x_from, x_to, elements, g, dt, out_pair, out_time, out_rotation):
        """Find the pair of every point that fell below alpha on the way, let go of recovered ones, turn the rest.

        Points that were rescued keep a time below PATIENCE, which `recovery` lets fade. A point whose direction of
        collapse is undefined keeps its rotation. Returns how many are below alpha.
        """
        points = g.shape[0] // elements.shape[0]
        collapsed = 0
        for q in range(g.shape[0]):
            e = q // points
            f = gradient(x_to, elements, g, e, q)
            det = determinant(f)
            # Sound again: forgotten once the time that it was degenerate has been made up for.
            if det > ALPHA:
                if out_pair[q] == 0:
                    continue
                was_rescued = out_time[q] >= PATIENCE
                if det > SOUND:
                    out_time[q] -= RELEASE * dt
                if out_time[q] < PATIENCE:
                    out_pair[q] = 0
                    out_time[q] = out_time[q] if was_rescued else 0.0
                    continue
            else:
                collapsed += 1
                out_time[q] += dt
            # Newly collapsed: which pair of features passed through each other, sec. 4.4.1.
            if out_pair[q] == 0:
                if out_time[q] > dt:  # was rescued before
                    out_time[q] += PATIENCE
                before = gradient(x_from, elements, g, e, q)
                out_pair[q] = collapse_pair(before, f, g, q, corners)
            pair = out_pair[q] % SHRUNK
            out_pair[q] = pair + SHRUNK if squared_size(cofactor(f)) < THIN else pair
            gx, gy, gz = pair_gradient(g, q, corners, pair)
            # The rotation of the element as if it were not collapsed, sec. 4.4.2.
            is_defined, virtual = undegenerate(f, gx, gy, gz)
            if is_defined:
                _, w, i, j, k = polar_rotation(
                    virtual,
                    out_rotation[q, 0],
                    out_rotation[q, 1],
                    out_rotation[q, 2],
                    out_rotation[q, 3],
                )
                out_rotation[q, 0] = w
                out_rotation[q, 1] = i
                out_rotation[q, 2] = j
                out_rotation[q, 3] = k
        return collapsed

    return follow_degeneration


tet_follow_degeneration = degeneration_kernel(4, tet_gradient)
hex_follow_degeneration = degeneration_kernel(8, hex_gradient)
