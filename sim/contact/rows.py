"""Contact rows without contacts, and how their arrays are made."""

import numpy as np

from jellycage.sim.contact.response_kernels import ContactRows


def new_rows(rows, weights, normal, gap, slip, stiffness, friction, tolerance) -> ContactRows:
    """Contacts of which no pass has found out anything yet; see `ContactRows`."""
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
        raised=np.zeros(count),
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
