"""Contact rows without contacts, and how their arrays are made."""

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.candidates import dots, parted
from jellycage.sim.contact.response_kernels import ContactRows


def new_rows(
    rows, weights, normal, gap, slip, stiffness, friction, tolerance, raised=None
) -> ContactRows:
    """Contacts of which no pass has found out anything yet, and no plane is raised unless that is given."""
    count = len(gap)
    return ContactRows(
        rows=rows,
        weights=weights,
        normal=normal,
        gap=gap,
        slip=slip,
        stiffness=stiffness,
        friction=friction,
        tolerance=tolerance,
        raised=np.zeros(count) if raised is None else raised,
        pressure=np.zeros(count),
        slip_stiffness=np.zeros(count),
        is_active=np.zeros(count, np.bool_),
    )


NO_CONTACTS = new_rows(
    rows=np.zeros((0, 4), np.int32),
    weights=np.zeros((0, 4)),
    normal=np.zeros((0, 3)),
    gap=np.zeros(0),
    slip=np.zeros((0, 3)),
    stiffness=np.zeros(0),
    friction=np.zeros(0),
    tolerance=np.zeros(0),
)


def rows_from(rows: ContactRows, moved: NDArray[np.float64]) -> ContactRows:
    """The same contacts seen from nodes that are displaced by (n, 3) [m] already."""
    apart = parted(rows.weights, rows.rows, moved)
    along = dots(apart, rows.normal)
    slip = rows.slip + apart - along[:, None] * rows.normal
    return rows._replace(gap=rows.gap + along, slip=slip)
