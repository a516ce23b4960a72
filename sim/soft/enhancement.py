"""What the strain of the solid in an element has of bending, beyond what its gradient shows.

Eight corners cannot show second derivatives along one axis: u_d = s_d xi_d^2 / 2 looks the same at all of them. Where
the solid lies off the middle of its cube, at xi = a, its strain is out by sum_d a_d s_d g_d^T. In a bar that crosses
the cubes askew these errors change sign from cube to cube, cost more than the bending itself, and make it twice as
stiff as it should be. s_d is what the modes q drive it to (`hourglass`), as in incompatible modes (Wilson, Taylor).

As it stands constant stress would drive modes by it, and bars stretch by up to a quarter too much: it has to be
orthogonal to constant stress, as enhanced strains are (Simo, Rifai 1990, doi:10.1002/nme.1620290802). They are so in
each element; there that would leave nothing of it. But only nodes move, so it is enough that what constant stress
does to each *node* by it is nothing. The smallest change that makes it so takes about a third away. To ask for more to
begin with bends bars hardly better, and lets what pins hold snap.

So F~ = F + L q with the L nearest to the above for which sum_e V_e L_e^T sigma = 0 at every node. `enhancement_kernels`
has it for large deformations.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import splu

from jellycage.sim.soft.elements import Elements
from jellycage.sim.soft.hourglass import pure_derivatives

LEAST = 0.02  # of the gradient of a coordinate: elements where it is less have none
LEAST_FILL = 0.02  # of an element: slivers do not bend, and pinned ones would snap
REGULAR = 1e-10  # of the greatest diagonal: affine motion has no modes
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def enhancement(elements: Elements, poisson_ratio) -> NDArray[np.float64]:
    """L of every element, rows (00, 11, 22, 01, 02, 12), columns (mode, direction), shape (e, 6, 12) [1/m]."""
    axes, at, modes = elements.hourglass_axes, elements.hourglass_at, elements.hourglass_modes
    wanted = np.zeros((len(axes), 3, 3, 4, 3))
    pure = pure_derivatives(elements, poisson_ratio)
    wanted[:, :, :, :3] = np.einsum("ed,edimc,edj->eijmc", at, pure, axes)
    rows = np.stack([0.5 * (wanted[:, i, j] + wanted[:, j, i]) for i, j in PAIRS], axis=1)
    is_some = np.abs(rows).max(axis=(1, 2, 3)) > LEAST * np.abs(axes).max(axis=(1, 2))
    is_some &= modes.any(axis=(1, 2)) & (elements.fill >= LEAST_FILL)
    rows[~is_some] = 0.0
    which = np.flatnonzero(is_some)
    if len(which):
        solid = (elements.element_volumes * elements.fill)[which, None, None]
        found = orthogonal(
            elements.corners[which],
            solid * modes[which],
            rows[which].transpose(0, 2, 1, 3),
            len(elements.nodes),
        )
        rows[which] = found.transpose(0, 2, 1, 3)
    return rows.reshape(-1, 6, 12)


def orthogonal(corners, modes, values, count) -> NDArray[np.float64]:
    """The values (e, 4, ...) nearest to those given with which constant stress does nothing to any of so many nodes.

    corners (e, 8), modes (e, 4, 8) times the solid in their element: node a gets sum_e modes_eia values_ei.
    """
    nodes = np.broadcast_to(corners[:, None, :], modes.shape)
    columns = np.broadcast_to(np.arange(4 * len(corners)).reshape(-1, 4, 1), modes.shape)
    shape = count, 4 * len(corners)
    gather = csc_array((modes.ravel(), (nodes.ravel(), columns.ravel())), shape)
    square = gather @ gather.T
    square = square + REGULAR * square.diagonal().max() * eye_array(count)
    flat = values.reshape(4 * len(corners), -1)
    change = gather.T @ splu(square.tocsc()).solve(gather @ flat)
    return values - change.reshape(values.shape)
