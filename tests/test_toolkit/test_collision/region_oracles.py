"""Contact regions found by trying everything, and bodies in random poses to try it on."""

from functools import cache

import numpy as np
from shapes import ball, blocks, fork_cells, subdivided, together, torus

from jellycage import toolkit
from jellycage.toolkit.collision.posed import pose
from jellycage.toolkit.collision.queries import intersecting_pairs, winding_numbers

ASSETS = {
    "tets": (ball(3), {"resolution": 4}),
    "hexes": (ball(3), {"resolution": 4, "element": "hex"}),
    "copies": (subdivided(blocks(*fork_cells()), 2), {"resolution": 5}),
    "torus": (torus(), {"resolution": 5}),
    "two parts": (together(ball(2), ball(2, centre=(2.2, 0.0, 0.0))), {"resolution": 6}),
}


@cache
def built(name):
    """An asset by name."""
    mesh, settings = ASSETS[name]
    return toolkit.build_cage(mesh, **settings)


def deformed(asset, rng, *, shake=0.1, bend=0.1, apart=0.15):
    """The asset's surface, of unit size, with its cage turned, bent, shaken by a share of a cell, and moved."""
    nodes = asset.cage_nodes - asset.cage_nodes.mean(axis=0)
    size = np.ptp(nodes, axis=0).max()
    nodes = nodes / size + shake * rng.normal(size=nodes.shape) * asset.meta["cell_size"] / size
    waves = rng.normal(size=(3, 3))
    nodes = nodes + bend * np.sin(3.0 * nodes @ waves.T)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.linalg.det(turn)  # no mirror
    return pose(asset.collision, nodes @ turn + apart * rng.normal(size=3))


def placed(mesh, *, at=(0.0, 0.0, 0.0), turn=None, **settings):
    """A mesh's surface in its cage, moved and turned."""
    asset = toolkit.build_cage(mesh, **settings)
    nodes = asset.cage_nodes if turn is None else asset.cage_nodes @ np.asarray(turn).T
    return pose(asset.collision, nodes + np.asarray(at))


def pressed(a, b, direction, depth):
    """A moved along a direction so far that a way back by `depth` would part the bodies; None if they do not meet."""

    def moved(way):
        return pose(a.surface, a.nodes + way * direction)

    steps = np.arange(2.5, 0.0, -0.02)
    meets = (len(intersecting_pairs(moved(way), b)) > 0 for way in steps)
    first = next((way for way, is_met in zip(steps, meets, strict=False) if is_met), None)
    if first is None:
        return None
    inside, outside = first, first + 0.02
    for _ in range(25):
        middle = 0.5 * (inside + outside)
        if len(intersecting_pairs(moved(middle), b)):
            inside = middle
        else:
            outside = middle
    return moved(inside - depth)


def covered(regions, contacts):
    """How much of the area that faces the other body inside [m^2] has contacts, as a share of all that does."""
    points = regions.points
    normals = regions.flank_normal[regions.flank] * np.where(points.body == 0, -1.0, 1.0)[:, None]
    facing = np.einsum("nx,nx->n", points.vector_area, normals)
    return contacts.facing.sum() / np.maximum(facing, 0.0).sum()


def walked_curves(a, b, crossings):
    """Curves as lists of segments, by a dictionary of their ends: edges as pairs of vertices, faces as triangles.

    Asserts that every end is the end of one segment and the beginning of one other, or of itself.
    """
    faces = [p.surface.vertices for p in (a, b)]
    numbers = [p.surface.vertex_number for p in (a, b)]
    begins, finishes = {}, {}
    for n, pair in enumerate(crossings.triangle.tolist()):
        for end, table in ((0, begins), (1, finishes)):
            k, i = int(crossings.body[n, end]), int(crossings.edge[n, end])
            corners = faces[k][pair[k]]
            edge = frozenset(int(numbers[k][corners[(i + j) % 3]]) for j in (0, 1))
            assert len(edge) == 2
            key = k, edge, pair[1 - k]
            assert key not in table
            table[key] = n
    assert begins.keys() == finishes.keys()
    follower = {n: begins[key] for key, n in finishes.items()}
    curves, seen = [], set()
    for n in range(len(crossings)):
        if n not in seen:
            row = [n]
            while follower[row[-1]] != n:
                row.append(follower[row[-1]])
            seen |= set(row)
            curves.append(row)
    return curves


def windings_of_triangles(own, other, side):
    """How often the other body goes around corner 0 of every triangle; what touches is decided as for crossings.

    There B is shifted by an infinitesimal. For points of A that is to shift them the other way, or to mirror all.
    """
    points = own.vertices[own.surface.vertices[:, 0]]
    if side == 1:
        return winding_numbers(other, points)
    return -winding_numbers(pose(other.surface, -other.nodes), -points)


def assert_inside_is_exact(a, b, regions):
    """Triangles and patches that were flooded are those with a winding number; returns how many are inside."""
    total = 0
    for side, (own, other) in enumerate(((a, b), (b, a))):
        inside = regions.inside[side]
        wanted = windings_of_triangles(own, other, side)
        is_crossed = np.zeros(len(wanted), bool)
        is_crossed[regions.curves.crossings.triangle[:, side]] = True
        assert set(inside.rim.triangle) == set(np.flatnonzero(is_crossed))
        wanted[is_crossed] = 0
        patch = own.surface.triangle_patch
        found = np.zeros(len(wanted), np.int64)
        found[inside.triangles] = inside.flooded.winding[inside.triangle_piece]
        per_patch = np.zeros(len(own.surface.patch_area), np.int64)
        per_patch[inside.patches] = inside.flooded.winding[inside.patch_piece]
        assert not (found * per_patch[patch]).any()
        np.testing.assert_array_equal(found + per_patch[patch], wanted)
        # Patches are taken whole wherever they can be.
        is_cut = np.bincount(patch, is_crossed) > 0
        np.testing.assert_array_equal(per_patch != 0, ~is_cut & (np.bincount(patch, wanted) != 0))
        total += np.count_nonzero(wanted)
    return total


def assert_areas_agree(regions):
    """Vector areas by curves and by surfaces to 1e-9 of the area; returns the worst ratio."""
    by_surface = regions.surface_vector_area * np.array([1.0, -1.0])[:, None]
    apart = np.abs(by_surface - regions.vector_area[:, None]).max(axis=2)
    size = np.zeros(len(regions))
    np.add.at(size, regions.points.region, np.abs(regions.points.area))
    assert (apart <= 1e-9 * size[:, None]).all()
    return (apart.max(axis=1) / size).max(initial=0.0)


def clipped(polygon, planes):
    """What of a convex polygon (n, 3) lies in front of no plane (normal, offset): Sutherland and Hodgman's clipping."""
    for normal, offset in planes:
        height = polygon @ normal - offset
        kept = []
        for i in range(len(polygon)):
            j = (i + 1) % len(polygon)
            if height[i] <= 0.0:
                kept.append(polygon[i])
            if (height[i] <= 0.0) != (height[j] <= 0.0):
                s = height[i] / (height[i] - height[j])
                kept.append(polygon[i] + s * (polygon[j] - polygon[i]))
        if len(kept) < 3:
            return None
        polygon = np.array(kept)
    return polygon


def clipped_patches(own, convex):
    """(area, vector area, area times centroid) of what of each patch is inside a convex body, and its full area."""
    corners = convex.vertices[convex.surface.vertices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normals, axis=1)
    normals = (normals / length[:, None])[length > 1e-9]
    offsets = np.einsum("tx,tx->t", normals, corners[length > 1e-9, 0])
    patch = own.surface.triangle_patch
    sums = np.zeros((len(own.surface.patch_area), 7))
    full = np.zeros(len(sums))
    for t, triangle in enumerate(own.vertices[own.surface.vertices]):
        full[patch[t]] += np.linalg.norm(fans(triangle)[0].sum(axis=0))
        heights = triangle @ normals.T - offsets
        if (heights > 0.0).all(axis=0).any():
            continue
        which = np.flatnonzero((heights > 0.0).any(axis=0))
        part = clipped(triangle, [(normals[i], offsets[i]) for i in which])
        if part is not None:
            vectors, centres = fans(part)
            areas = np.linalg.norm(vectors, axis=1)
            sums[patch[t], 0] += areas.sum()
            sums[patch[t], 1:4] += vectors.sum(axis=0)
            sums[patch[t], 4:] += areas @ centres
    return sums, full


def fans(polygon):
    """(vector areas, centroids) of the triangles of a fan."""
    a, b, c = polygon[:1], polygon[1:-1], polygon[2:]
    return 0.5 * np.cross(b - a, c - a), (a + b + c) / 3.0


def winding_levels(regions):
    """All winding numbers of corners of crossed triangles and of stretches of their edges, and of pieces."""
    levels = set()
    for part in regions.inside:
        levels |= set(part.flooded.winding.tolist())
        for r, corners in enumerate(part.rim.winding.tolist()):
            i = part.pierces.start[r]
            for edge, winding in enumerate(corners):
                levels.add(winding)
                while i < part.pierces.start[r + 1] and part.pierces.edge[i] == edge:
                    winding += int(part.pierces.gain[i])
                    levels.add(winding)
                    i += 1
    return levels


def walked_regions(a, b, curves):
    """Region of each curve, numbered as they come: by going around every crossed triangle, one step at a time.

    For bodies that neither overlap themselves nor are turned inside out where the curves are. From where its edge
    goes in, the border of a triangle is inside until the next end of a segment. None if a curve lies within a
    triangle that is crossed by others, too: where that belongs the walk does not tell.
    """
    parent = {}

    def root(x):
        parent.setdefault(x, x)
        while parent[x] != x:
            x = parent[x]
        return x

    def unite(x, y):
        parent[root(x)] = root(y)

    c = curves.crossings
    for side, (own, other) in enumerate(((a, b), (b, a))):
        near = own.surface.neighbours
        is_inside = windings_of_vertices(own, other, side) != 0
        faces = own.surface.vertices
        rim = {}
        for n, t in enumerate(c.triangle[:, side].tolist()):
            rim.setdefault(t, []).append(n)
        for t, rows in rim.items():
            items = [(edge, -1.0, None, edge) for edge in range(3)]
            pierced = set()
            for n in rows:
                for end in range(2):
                    if c.body[n, end] == side:
                        items.append((int(c.edge[n, end]), c.share[n, end], end == 1 - side, n))
                        pierced.add(int(c.edge[n, end]))
            items.sort(key=lambda item: item[:2])
            own_curves = {int(curves.curve[n]) for n in rows}
            if not pierced:
                if is_inside[faces[t, 0]]:
                    for x in own_curves:
                        unite((side, t, 0), x)
                    unite((side, t, 0), (side, t, 1))
                    unite((side, t, 0), (side, t, 2))
                elif len(own_curves) > 1:
                    return None
            else:
                met = {int(curves.curve[item[3]]) for item in items if item[2] is not None}
                if met != own_curves:
                    return None
            for i, (_, _, goes_in, n) in enumerate(items):
                if not goes_in:
                    continue
                j = (i + 1) % len(items)
                while items[j][2] is None:
                    unite(int(curves.curve[n]), (side, t, items[j][3]))
                    j = (j + 1) % len(items)
                unite(int(curves.curve[n]), int(curves.curve[items[j][3]]))
            for edge in set(range(3)) - pierced:
                if is_inside[faces[t, edge]]:
                    for x in (edge, (edge + 1) % 3):
                        unite((side, t, x), (side, "edge", frozenset((t, int(near[t, edge])))))
        for t in np.flatnonzero(is_inside[faces].all(axis=1)).tolist():
            if t not in rim:
                for edge in range(3):
                    unite((side, t), (side, "edge", frozenset((t, int(near[t, edge])))))
    found = {}
    return [found.setdefault(root(x), len(found)) for x in range(len(curves))]


def windings_of_vertices(own, other, side):
    """As `windings_of_triangles`, for all vertices."""
    if side == 1:
        return winding_numbers(other, own.vertices)
    return -winding_numbers(pose(other.surface, -other.nodes), -own.vertices)
