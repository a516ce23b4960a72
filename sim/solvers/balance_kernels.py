"""What a truncated solve leaves of an error in the momentum of a body, mended."""

from jellycage.sim.contact.response_kernels import contact_block, spring_force
from jellycage.sim.maths.matrix3_kernels import solve_within
from jellycage.sim.solvers.problem_kernels import add, clear
from jellycage.sim.solvers.springs_kernels import pull_of
from jellycage.toolkit.compile_kernels import njit_called, njit_inside


@njit_inside
def balance_parts(problem):
    """Shift every part as a whole, as its hard pins allow, until wells, forces, springs and contacts on it balance.

    Elastic forces cancel within a part, so a truncated solve leaves an error in the momentum that one shift mends.
    Parts that contacts join are shifted together, for these forces cancel as well, unless hard pins hold one of them.
    """
    increment, contacts = problem.increment, problem.contacts
    springs = increment.springs
    part, sums, out_u = problem.part, problem.scratch.part_sums, problem.solution.u
    weight, load, centre, sliding = (
        increment.weight,
        increment.load,
        increment.centre,
        increment.sliding,
    )
    # Force, then stiffness (00, 11, 22, 01, 02, 12), of each part; then the first of the parts that it is joined to.
    clear(sums)
    find_joined(contacts, part, sums)
    for i in range(out_u.shape[0]):
        c = part[i]
        for k in range(3):
            sums[c, 3 + k] += weight[i]
            sums[c, k] += load[i, k] - weight[i] * (out_u[i, k] - centre[i, k])
    if springs.stiffness.shape[0]:
        add(increment.x, out_u, problem.scratch.x)
    for p in range(springs.stiffness.shape[0]):
        c, b, k = part[springs.nodes[p, 0]], springs.blocked[p], springs.stiffness[p]
        _, (fx, fy, fz) = pull_of(springs, problem.scratch.x, p)
        whole = 0.0  # a spring may stand for many points, so that its weights need not sum to 1
        for a in range(springs.nodes.shape[1]):
            whole += springs.weights[p, a]
        sums[c, 0] -= whole * fx
        sums[c, 1] -= whole * fy
        sums[c, 2] -= whole * fz
        for m in range(6):
            sums[c, 3 + m] += whole * whole * k * b[m]
    for t in range(contacts.gap.shape[0]):
        if contacts.is_active[t] or contacts.slip_stiffness[t] > 0.0:
            c, whole = part[contacts.rows[t, 0]], 0.0
            for a in range(contacts.rows.shape[1]):
                whole += contacts.weights[t, a]
            if abs(whole) < 0.5:  # side b is soft too: what acts on the one acts back on the other
                continue
            b = contact_block(contacts, t)
            fx, fy, fz = spring_force(contacts, out_u, t)
            sums[c, 0] += fx
            sums[c, 1] += fy
            sums[c, 2] += fz
            for m in range(6):
                sums[c, 3 + m] += b[m]
    for c in range(sums.shape[0]):
        first = int(sums[c, 9])
        if first != c:
            for m in range(9):
                sums[first, m] += sums[c, m]
            if not (is_free(sliding[c]) and is_free(sliding[first])):
                sums[first, 9] = -1.0
    for c in range(sums.shape[0]):
        if sums[c, 9] == c:
            sums[c, 0], sums[c, 1], sums[c, 2] = solve_within(
                sliding[c], sums[c, 3:9], sums[c, 0], sums[c, 1], sums[c, 2]
            )
    for i in range(out_u.shape[0]):
        c = int(sums[part[i], 9])
        if c >= 0 and sums[c, 9] >= 0.0:
            for k in range(3):
                out_u[i, k] += sums[c, k]


@njit_called
def find_joined(contacts, part, out_sums):
    """Number in column 9 the first of all parts that contacts join to each, itself if there are none."""
    for c in range(out_sums.shape[0]):
        out_sums[c, 9] = c
    is_changed = out_sums.shape[0] > 1
    while is_changed:
        is_changed = False
        for t in range(contacts.gap.shape[0]):
            if not (contacts.is_active[t] or contacts.slip_stiffness[t] > 0.0):
                continue
            first = float(out_sums.shape[0])
            for a in range(contacts.rows.shape[1]):
                if contacts.weights[t, a] != 0.0:
                    first = min(first, out_sums[part[contacts.rows[t, a]], 9])
            for a in range(contacts.rows.shape[1]):
                c = part[contacts.rows[t, a]]
                if contacts.weights[t, a] != 0.0 and out_sums[c, 9] > first:
                    out_sums[c, 9], is_changed = first, True


@njit_called
def is_free(sliding):
    """Whether hard pins leave a part all translations."""
    return sliding[0] + sliding[1] + sliding[2] > 2.5
