"""How many separate parts a solid has, found from its shells alone: which cross, and which lie in which."""

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components


def solid_part_count(solid) -> int:
    """Parts of a repaired solid: shells that share an edge, cross, or lie in one another's solid are one."""
    count = solid.shell_count
    if count == 1:
        return 1
    links = [*_sharing_edges(solid), *_crossing(solid), *_containing(solid)]
    ends = np.array(links, int).reshape(-1, 2)
    graph = coo_matrix((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))
    return connected_components(graph, directed=False)[0]


def winding_numbers(corners, points):
    """Winding number of triangles (f, 3, 3) around points (n, 3), by solid angles."""
    result = np.empty(len(points))
    for i, point in enumerate(points):
        a, b, c = (corners[:, k] - point for k in range(3))
        la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
        top = np.einsum("ij,ij->i", a, np.cross(b, c))
        dot = [np.einsum("ij,ij->i", p, q) for p, q in ((a, b), (b, c), (c, a))]
        bottom = la * lb * lc + dot[0] * lc + dot[1] * la + dot[2] * lb
        result[i] = 2.0 * np.arctan2(top, bottom).sum() / (4.0 * np.pi)
    return result


def _sharing_edges(solid):
    sides = np.sort(solid.faces[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
    shell = np.repeat(solid.shell, 3)
    order = np.lexsort((shell, sides[:, 1], sides[:, 0]))
    same = (sides[order][1:] == sides[order][:-1]).all(axis=1)
    first, second = shell[order][:-1][same], shell[order][1:][same]
    return list(zip(first[first != second], second[first != second], strict=True))


def _boxes(solid, corners):
    shells = [corners[solid.shell == s].reshape(-1, 3) for s in range(solid.shell_count)]
    return [(x.min(axis=0), x.max(axis=0)) for x in shells]


def _containing(solid):
    """(shell, other) where a vertex of the shell lies in the solid that all other shells make."""
    corners = solid.vertices[solid.faces]
    boxes = _boxes(solid, corners)
    for s in range(solid.shell_count):
        # A generic point of the shell's surface: its largest triangle's middle.
        own = np.flatnonzero(solid.shell == s)
        areas = np.linalg.norm(
            np.cross(corners[own, 1] - corners[own, 0], corners[own, 2] - corners[own, 0]), axis=1
        )
        point = corners[own[areas.argmax()]].mean(axis=0)
        around = [
            other
            for other, (low, high) in enumerate(boxes)
            if other != s and (point > low).all() and (point < high).all()
        ]
        windings = [winding_numbers(corners[solid.shell == o], point[None])[0] for o in around]
        if round(sum(windings)) != 0:
            holders = [o for o, w in zip(around, windings, strict=True) if round(w) != 0]
            # The innermost holder's solid is the one that the shell touches.
            yield s, min(holders, key=lambda o: np.prod(boxes[o][1] - boxes[o][0]))


def _crossing(solid):
    """(shell, other) of which two triangles cross."""
    corners = solid.vertices[solid.faces]
    low, high = corners.min(axis=1), corners.max(axis=1)
    boxes = _boxes(solid, corners)
    for s in range(solid.shell_count):
        for o in range(s):
            near_low = np.maximum(boxes[s][0], boxes[o][0])
            near_high = np.minimum(boxes[s][1], boxes[o][1])
            if (near_low > near_high).any():
                continue
            near = ((low <= near_high) & (high >= near_low)).all(axis=1)
            mine, others = (np.flatnonzero(near & (solid.shell == x)) for x in (s, o))
            if _any_crossing(corners, low, high, mine, others):
                yield s, o


def _any_crossing(corners, low, high, mine, others):
    for i in mine:
        hit = others[((low[others] <= high[i]) & (high[others] >= low[i])).all(axis=1)]
        if len(hit) and (
            _sides_hit(corners[[i]].repeat(len(hit), 0), corners[hit]).any()
            or _sides_hit(corners[hit], corners[[i]].repeat(len(hit), 0)).any()
        ):
            return True
    return False


def _sides_hit(first, second):
    """Whether a side of each first triangle passes through the second triangle (k, 3, 3)."""

    def volume(a, b, c, d):
        return np.einsum("ij,ij->i", b - a, np.cross(c - a, d - a))

    u, v, w = (second[:, i] for i in range(3))
    result = np.zeros(len(first), bool)
    for i in range(3):
        a, b = first[:, i], first[:, (i + 1) % 3]
        sides = volume(u, v, w, a) * volume(u, v, w, b) < 0
        s = np.stack([volume(a, b, u, v), volume(a, b, v, w), volume(a, b, w, u)])
        result |= sides & ((s > 0).all(axis=0) | (s < 0).all(axis=0))
    return result
