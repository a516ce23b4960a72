"""Pictures without a display: a small software renderer and a PNG writer.

Needs no OpenGL, no window and no image library, so it works on a farm, in a container and in a
test. Layers, back to front: backdrop with the shadow, far side of the glass, its lines, solids,
near side of the glass, its lines. Everything is drawn at twice the size and averaged.

Limitations: of the glass only the nearest and the farthest face count at each pixel; solids cast
shadows on the ground, not on each other; faces that reach behind the camera are left out.
"""

import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.toolkit.arrays import as_indices, as_points
from jellycage.toolkit.atomic_file import atomic_file
from jellycage.toolkit.cage.outer_faces import face_edges, outer_faces, triangulated
from jellycage.toolkit.collision.surface import CollisionSurface
from jellycage.toolkit.errors import SettingsError
from jellycage.toolkit.picture import picture_kernels as kernels
from jellycage.toolkit.picture.camera import Camera, camera_around

SURFACE_COLOUR = (0.78, 0.055, 0.030)
CAGE_COLOUR = (0.35, 0.62, 0.85)
LINE_COLOUR = (0.012, 0.05, 0.12)
CREASE_COSINE = 0.77
SHADOW_CELLS = 384


@dataclass(frozen=True, eq=False)
class Drawn:
    """Something to draw: a solid, or glass with lines."""

    vertices: NDArray[np.float64]
    """Positions [m], shape (n, 3)."""
    faces: NDArray[np.int32]
    """Triangles, shape (f, 3); both sides are visible."""
    colour: ArrayLike = SURFACE_COLOUR
    """Linear red, green and blue in [0, 1], of all faces or of each, shape (3,) or (f, 3)."""
    is_glass: bool = False
    edges: NDArray[np.int32] | None = None
    """Vertex indices of lines, shape (e, 2), drawn where no solid hides them."""

    def __post_init__(self):
        put = object.__setattr__
        put(self, "vertices", as_points(self.vertices, "vertices"))
        put(self, "faces", as_indices(self.faces, 3, len(self.vertices), "faces"))
        edges = np.zeros((0, 2)) if self.edges is None else self.edges
        put(self, "edges", as_indices(edges, 2, len(self.vertices), "edges"))


def render(
    shapes: Sequence[Drawn],
    *,
    width: int = 1200,
    height: int = 900,
    camera: Camera | None = None,
) -> NDArray[np.uint8]:
    """A picture of the shapes, shape (height, width, 3); without a camera it frames all of them."""
    if width < 1 or height < 1:
        raise SettingsError(f"width, height: at least 1 pixel, got {width} x {height}")
    points = np.concatenate([np.zeros((0, 3)), *(shape.vertices for shape in shapes)])
    if camera is None:
        camera = camera_around(points, aspect=width / height)
    size = (2 * height, 2 * width)
    solid = _Layer.joined([shape for shape in shapes if not shape.is_glass], camera, size)
    glass = _Layer.joined([shape for shape in shapes if shape.is_glass], camera, size)
    solid_w, solid_face = _nearest(solid.screen, solid.faces, size)
    near_w, near_face = _nearest(glass.screen, glass.faces, size)
    minus_far_w, far_face = _nearest(glass.screen * (1, 1, -1), glass.faces, size)
    far_w = np.where(far_face >= 0, -minus_far_w, 0).astype(np.float32)

    colour = _backdrop(solid, points, camera, size)
    tint, edge_on = _glass_tint(glass, camera)
    kernels.lay_glass(far_face, far_w, solid_w, tint, 0.11 + 0.20 * edge_on, colour)
    near_lines, far_lines = _lines([solid, glass], solid_w, near_w, size)
    kernels.lay_lines(far_lines, np.array(LINE_COLOUR), colour)
    kernels.shade(
        solid.screen,
        solid.x,
        solid.faces,
        _corner_normals(solid.x, solid.faces),
        solid.colour,
        solid_face,
        _openness(solid_w, points, camera),
        camera.eye,
        _lights(camera),
        colour,
    )
    kernels.lay_glass(near_face, near_w, solid_w, tint, 0.06 + 0.12 * edge_on, colour)
    kernels.lay_lines(near_lines, np.array(LINE_COLOUR), colour)
    image = np.empty((height, width, 3), dtype=np.uint8)
    kernels.develop(colour, *_display_curve(), image)
    return image


def render_surface_in_cage(
    vertices: ArrayLike,
    faces: ArrayLike,
    cage_nodes: ArrayLike,
    cage_tets: ArrayLike | None = None,
    cage_hexes: ArrayLike | None = None,
    *,
    width: int = 1200,
    height: int = 900,
) -> NDArray[np.uint8]:
    """A picture of the surface inside its glass cage, shape (height, width, 3)."""
    outside = outer_faces(cage_tets, cage_hexes)
    cage = Drawn(cage_nodes, triangulated(outside), CAGE_COLOUR, True, face_edges(outside))
    return render([Drawn(vertices, faces), cage], width=width, height=height)


def render_patches(
    surface: CollisionSurface, cage_nodes: ArrayLike, *, width: int = 1200, height: int = 900
) -> NDArray[np.uint8]:
    """A picture of the collision surface with a colour for each patch, shape (height, width, 3)."""
    colours = patch_colours(len(surface.patch_area))[surface.triangle_patch]
    # Vertices are joined, so that shading is smooth across patches.
    shape = Drawn(*surface.joined(np.asarray(cage_nodes, np.float64)), colours)
    return render([shape], width=width, height=height)


def patch_colours(count: int) -> NDArray[np.float64]:
    """Linear colours that differ from one number to the next, shape (count, 3)."""
    number = np.arange(count)[:, None]
    hue = 0.6180339887 * number + np.array([0.0, 1.0 / 3.0, 2.0 / 3.0])
    value = 0.35 + 0.5 * np.modf(0.7548776662 * number)[0]
    return value * (0.55 + 0.45 * np.cos(2.0 * np.pi * hue)) ** 1.5


def contact_sheet(images: Sequence[NDArray[np.uint8]], columns: int) -> NDArray[np.uint8]:
    """Pictures of one size side by side, row by row; the last row is filled up with white."""
    if columns < 1 or not len(images):
        raise SettingsError(f"contact sheet: {len(images)} images in {columns} columns")
    if len({image.shape for image in images}) > 1:
        raise SettingsError("contact sheet: the images must all have one size")
    height, width, channels = images[0].shape
    rows = -(-len(images) // columns)
    sheet = np.full((rows, height, columns, width, channels), 255, dtype=np.uint8)
    for k, image in enumerate(images):
        sheet[k // columns, :, k % columns] = image
    return sheet.reshape(rows * height, columns * width, channels)


def write_png(path: str | os.PathLike, image: NDArray[np.uint8]) -> None:
    """Write an image of shape (h, w, 3) or (h, w, 4) as PNG, whole or not at all."""
    image = np.asarray(image)
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] not in (3, 4):
        raise SettingsError(
            f"image: expected uint8 (h, w, 3) or (h, w, 4), got {image.dtype} {image.shape}"
        )
    height, width, channels = image.shape
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 6, 0, 0, 0)
    # Filter 2 of the PNG standard: each row as the difference to the row above.
    above = np.concatenate([np.zeros_like(image[:1]), image[:-1]])
    rows = np.full((height, 1 + width * channels), 2, dtype=np.uint8)
    rows[:, 1:] = (image - above).reshape(height, -1)
    with atomic_file(path) as temporary, open(temporary, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, data in ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 6)), (b"IEND", b"")):
            file.write(struct.pack(">I", len(data)) + kind + data)
            file.write(struct.pack(">I", zlib.crc32(kind + data)))


@dataclass(frozen=True, eq=False)
class _Layer:
    """All solids, or all glass, as one set of arrays."""

    x: NDArray[np.float64]
    screen: NDArray[np.float64]
    faces: NDArray[np.int32]
    colour: NDArray[np.float64]
    edges: NDArray[np.int32]

    @classmethod
    def joined(cls, shapes, camera, size):
        """One layer of the shapes, without the faces that reach behind the camera."""
        offset = np.cumsum([0, *(len(shape.vertices) for shape in shapes)])
        x = np.concatenate([np.zeros((0, 3)), *(s.vertices for s in shapes)])
        none = np.zeros((0, 3), np.int32)
        faces = np.concatenate([none, *(s.faces + o for s, o in zip(shapes, offset, strict=False))])
        edges = np.concatenate(
            [none[:, :2], *(s.edges + o for s, o in zip(shapes, offset, strict=False))]
        )
        colour = np.concatenate(
            [np.zeros((0, 3)), *(np.broadcast_to(s.colour, (len(s.faces), 3)) for s in shapes)]
        )
        screen = camera.projected(x, size[1], size[0])
        in_front = (screen[faces, 2] > 0.0).all(axis=1)
        faces = np.ascontiguousarray(faces[in_front], dtype=np.int32)
        return cls(x, screen, faces, colour[in_front], edges.astype(np.int32))


def _lights(camera):
    """A warm key light over the left shoulder, a cool fill from the right and one from behind."""
    right, down, forward = camera.axes
    table = (
        (-0.55 * right - 0.75 * down - 0.60 * forward, (0.90, 0.81, 0.68), 0.55),
        (0.90 * right - 0.20 * down - 0.45 * forward, (0.16, 0.19, 0.24), 0.10),
        (0.55 * right - 0.60 * down + 0.75 * forward, (0.30, 0.30, 0.30), 0.25),
    )
    return np.array([[*(d / np.linalg.norm(d)), *colour, shine] for d, colour, shine in table])


def _nearest(screen, faces, size):
    """Greatest w at each pixel (0 or, for negated w, -inf where empty) and its face, else -1."""
    empty = -np.inf if len(screen) and screen[:, 2].min() < 0.0 else 0.0
    w = np.full(size, empty, dtype=np.float32)
    face = np.full(size, -1, dtype=np.int32)
    kernels.rasterise(np.ascontiguousarray(screen), faces, w, face)
    return w, face


def _corner_normals(x, faces):
    """Unit normals (f, 3, 3): smooth, but flat where the surface has a crease."""
    corners = x[faces]
    sides = np.roll(corners, -1, axis=1) - corners
    cross = np.cross(sides[:, 0], sides[:, 1])
    flat, twice_area = _unit(cross), np.linalg.norm(cross, axis=1)
    smooth = np.zeros_like(x)
    for k in range(3):
        # Weighted by the angle at the corner, so that how quads were cut does not matter.
        angle = np.arctan2(twice_area, -(sides[:, k] * sides[:, k - 1]).sum(axis=1))
        for d in range(3):
            smooth[:, d] += np.bincount(faces[:, k], weights=angle * flat[:, d], minlength=len(x))
    corner = _unit(smooth)[faces]
    creased = np.einsum("fkd,fd->fk", corner, flat) < CREASE_COSINE
    return np.where(creased[..., None], flat[:, None], corner)


def _unit(vectors):
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)


def _openness(w, points, camera):
    """Ambient light that reaches each pixel of the finished picture."""
    half = np.ascontiguousarray(w[::2, ::2])
    light, even = np.ones_like(half), np.ones_like(half)
    radius = 0.06 * np.linalg.norm(np.ptp(points, axis=0)) if len(points) else 0.0
    if radius > 0.0:
        k, turn = np.arange(24), (np.arange(16) * 7 % 16)[:, None] / 16.0
        angle, step = np.pi * (k + turn) / 8.0, (k // 8 + turn + 0.25) / 3.0
        focal = 0.5 * half.shape[0] / camera.slope
        kernels.find_openness(
            half, step * np.cos(angle), step * np.sin(angle), radius, focal, light
        )
        kernels.even_out(light, half, even)
    return even


def _glass_tint(glass, camera):
    """Colour of each face of the glass, and how much it is seen edge-on, 0 to 1."""
    corners = glass.x[glass.faces]
    normal = _unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    view = _unit(camera.eye - corners.mean(axis=1))
    edge_on = (1.0 - np.abs((normal * view).sum(axis=1))) ** 3
    glow = np.abs(normal @ _lights(camera)[0, :3])
    return glass.colour * (0.55 + 0.6 * glow)[:, None], edge_on


def _display_curve(entries=16384, brightest=4.0):
    """The curve from linear light to sRGB with a soft shoulder, as a table, and where it ends."""
    light = np.linspace(0.0, brightest, entries)
    light = np.where(light > 0.7, 0.7 + 0.3 * (1.0 - np.exp((0.7 - light) / 0.3)), light)
    srgb = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return srgb, brightest


def _lines(layers, solid_w, glass_w, size):
    """Coverage by lines at the near side and, weaker, by those that only far faces have."""
    near, far = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.float32)
    nothing = np.zeros_like(glass_w)
    half_width = max(0.00075 * min(size[0], 0.75 * size[1]), 0.75)
    for layer in layers:
        if not len(layer.edges):
            continue
        is_near = _has_near_face(layer)
        for wanted, strength, alpha in ((is_near, 0.75, near), (~is_near, 0.22, far)):
            kernels.draw_lines(
                layer.screen,
                layer.edges,
                np.where(wanted, strength, 0.0),
                solid_w,
                glass_w if wanted is is_near else nothing,
                half_width,
                2e-3,
                8e-3,
                alpha,
            )
    return near, far


def _has_near_face(layer):
    """Whether each edge belongs to a face that turns towards the camera, or to none at all."""
    a, b, c = (layer.screen[layer.faces[:, k], :2] for k in range(3))
    u, v = b - a, c - a
    towards = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0] < 0.0
    count = len(layer.x)

    def keys(edges):
        ends = np.sort(edges.astype(np.int64), axis=-1)
        return ends[..., 0] * count + ends[..., 1]

    sides = layer.faces[:, ((0, 1), (1, 2), (2, 0))]
    near = np.isin(keys(layer.edges), keys(sides[towards]))
    return near | ~np.isin(keys(layer.edges), keys(sides))


def _backdrop(solid, points, camera, size):
    """Backdrop with the soft shadow of the solids on the ground below everything."""
    colour = np.empty((*size, 3), dtype=np.float32)
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else np.zeros((2, 3))
    reach = max(np.linalg.norm(high - low), 1e-9)
    corner = low[:2] - 0.9 * reach
    cell = (np.max(high[:2] - low[:2]) + 1.8 * reach) / SHADOW_CELLS
    kernels.paint_backdrop(
        _shadow(solid, low[2], reach, corner, cell),
        np.array([0.5 * size[1], 0.42 * size[0]]),
        camera.rays(size[1], size[0]),
        camera.eye,
        low[2],
        corner,
        cell,
        colour,
    )
    return colour


def _shadow(solid, ground, reach, corner, cell):
    """Darkness of the ground on a square grid: a wide pool of shadow and a tight one at contact."""
    size = (SHADOW_CELLS, SHADOW_CELLS)
    if not len(solid.faces):
        return np.zeros(size)
    map_points = np.column_stack([(solid.x[:, :2] - corner) / cell, np.zeros(len(solid.x))])
    map_points[:, 2] = 1.0 / (0.02 * reach + np.maximum(solid.x[:, 2] - ground, 0.0))
    closeness, face = _nearest(map_points, solid.faces, size)
    height = np.where(face >= 0, 1.0 / np.maximum(closeness, 1e-9), np.inf)
    wide = _blurred((face >= 0) * np.exp(-height / (0.5 * reach)), 0.045 * reach / cell)
    tight = _blurred((face >= 0) * np.exp(-height / (0.06 * reach)), 0.010 * reach / cell)
    return np.ascontiguousarray(1.0 - (1.0 - 0.75 * wide) * (1.0 - 0.55 * tight))


def _blurred(image, radius):
    """Three box blurs along each axis, one after the other: close to a Gaussian."""
    reach = max(int(round(radius)), 1)
    width = 2 * reach + 1
    for _ in range(6):
        total = np.pad(image, ((reach + 1, reach), (0, 0))).cumsum(axis=0)
        image = ((total[width:] - total[:-width]) / width).T
    return image
