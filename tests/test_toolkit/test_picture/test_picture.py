"""The software renderer: areas, order of depth and bytes that can be computed by hand."""

import struct
import zlib

import numpy as np
import pytest

from jellycage.toolkit.cage.outer_faces import outer_faces
from jellycage.toolkit.errors import SettingsError
from jellycage.toolkit.picture.camera import camera_around
from jellycage.toolkit.picture.picture import (
    Drawn,
    contact_sheet,
    render,
    render_surface_in_cage,
    write_png,
)

CUBE = np.array(
    [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)], float
)
CUBE_HEX = np.arange(8)[None]
CUBE_TETS = np.array([(0, 1, 2, 5), (0, 2, 3, 7), (0, 5, 7, 4), (2, 7, 5, 6), (0, 2, 7, 5)])
TRIANGLE = np.array([(0.3, 0.5, 0.3), (0.7, 0.5, 0.3), (0.3, 0.5, 0.7)])
ONE_FACE = [(0, 1, 2)]
FRONT = camera_around(CUBE, direction=(0, -1, 0), aspect=1.0, margin=0.0)


def read_png(path):
    """Decode the pixels with nothing but the standard: chunks, zlib, row filters 0 and 2."""
    data, chunks, at = path.read_bytes(), {}, 8
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (crc,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        assert crc == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + length
    width, height, depth, kind, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, rest) == (8, [0, 0, 0]) and b"IEND" in chunks
    channels = {2: 3, 6: 4}[kind]
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    image = np.zeros((height, width * channels), np.uint8)
    for row in range(height):
        above = image[row - 1] if rows[row, 0] == 2 and row else 0
        image[row] = rows[row, 1:] + above
    return image.reshape(height, width, channels)


def is_red(image):
    return image[..., 0].astype(int) > 1.5 * image[..., 2]


@pytest.mark.parametrize("channels", [3, 4])
def test_png_read_back_by_another_decoder_is_the_same_image(tmp_path, channels):
    image = np.random.default_rng(0).integers(0, 256, (7, 5, channels), dtype=np.uint8)
    write_png(tmp_path / "a.png", image)
    np.testing.assert_array_equal(read_png(tmp_path / "a.png"), image)
    assert [p.name for p in tmp_path.iterdir()] == ["a.png"]


def test_png_of_another_type_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(SettingsError, match="uint8"):
        write_png(tmp_path / "a.png", np.zeros((4, 4, 3)))
    assert not list(tmp_path.iterdir())


def test_camera_sees_all_points_and_touches_the_frame():
    points = np.random.default_rng(1).normal(size=(200, 3)) * (3, 1, 1)
    screen = camera_around(points, aspect=1.5, margin=0.1).projected(points, 300, 200)
    low, high = screen[:, :2].min(axis=0), screen[:, :2].max(axis=0)
    assert (low >= (29.999, 19.999)).all() and (high <= (270.001, 180.001)).all()
    assert np.isclose(low, (30, 20)).any() and np.isclose(high, (270, 180)).any()


def test_facing_triangle_covers_its_projected_area():
    size = 400
    image = render([Drawn(TRIANGLE, ONE_FACE)], width=size, height=size, camera=FRONT)
    a, b, c = FRONT.projected(TRIANGLE, size, size)[:, :2]
    area = 0.5 * abs((b - a)[0] * (c - a)[1] - (b - a)[1] * (c - a)[0])
    # Only pixels on the outline are in doubt: at most its length.
    assert abs(is_red(image).sum() - area) < 0.01 * area


@pytest.mark.parametrize("order", [1, -1])
def test_nearer_hides_farther_whatever_the_order(order):
    far = Drawn(TRIANGLE + (0, 0.2, 0), ONE_FACE)
    near = Drawn(TRIANGLE, ONE_FACE, colour=(0.05, 0.1, 0.8))
    image = render([far, near][::order], width=200, height=200, camera=FRONT)
    x, y = FRONT.projected(TRIANGLE.mean(axis=0)[None], 200, 200)[0, :2].astype(int)
    assert image[y, x, 2] > 2 * image[y, x, 0]


def test_cage_in_front_tints_the_surface_and_draws_lines_over_it():
    bare = render([Drawn(TRIANGLE, ONE_FACE)], width=240, height=180, camera=FRONT)
    cage = Drawn(CUBE, [(0, 1, 5), (0, 5, 4)], (0.3, 0.6, 0.9), True, [(0, 5)])
    caged = render([Drawn(TRIANGLE, ONE_FACE), cage], width=240, height=180, camera=FRONT)
    on_surface = is_red(bare)
    assert (bare[on_surface] != caged[on_surface]).any(axis=1).mean() > 0.9
    x, y = FRONT.projected(np.array([[0.45, 0, 0.45]]), 240, 180)[0, :2].astype(int)
    line = caged[y - 1 : y + 2, x - 1 : x + 2, 0].min()
    assert line < 0.8 * bare[y, x, 0]


def test_lines_behind_the_surface_are_hidden():
    behind = Drawn(CUBE, np.zeros((0, 3)), is_glass=True, edges=[(3, 6)])
    solid = Drawn(TRIANGLE, ONE_FACE)
    size = {"width": 240, "height": 180, "camera": FRONT}
    bare, lined = render([solid], **size), render([solid, behind], **size)
    # Well inside the triangle: an outline pixel may mix both.
    a, b, c = FRONT.projected(0.8 * TRIANGLE + 0.2 * TRIANGLE.mean(axis=0), 240, 180)[:, :2]
    x, y = np.meshgrid(np.arange(240) + 0.5, np.arange(180) + 0.5)
    s = (x - a[0]) / (b - a)[0]
    t = (y - a[1]) / (c - a)[1]
    inside = (s > 0) & (t > 0) & (s + t < 1)
    assert inside.sum() > 100
    np.testing.assert_array_equal(bare[inside], lined[inside])


@pytest.mark.parametrize(
    "elements", [{"cage_tets": CUBE_TETS}, {"cage_hexes": CUBE_HEX}, {}, {"cage_tets": []}], ids=str
)
def test_surface_in_cage_is_drawn_the_same_twice(elements):
    nodes = CUBE if elements else np.zeros((0, 3))
    first, second = (
        render_surface_in_cage(TRIANGLE, ONE_FACE, nodes, **elements, width=120, height=90)
        for _ in range(2)
    )
    assert first.shape == (90, 120, 3) and first.dtype == np.uint8
    assert first.tobytes() == second.tobytes()
    assert is_red(first).any()


@pytest.mark.parametrize("points", [np.zeros((0, 3)), np.zeros((3, 3)), np.ones((3, 3)) * 1e6])
def test_nothing_to_see_gives_an_even_backdrop(points):
    faces = ONE_FACE if len(points) else np.zeros((0, 3))
    image = render([Drawn(points, faces)], width=64, height=48)
    assert image.min() > 180


def test_size_and_place_in_the_world_do_not_change_the_picture():
    faces = outer_faces(CUBE_TETS)
    image = render([Drawn(CUBE, faces)], width=160, height=120)
    other = render([Drawn(1000.0 * CUBE + (4096.0, -512.0, 64.0), faces)], width=160, height=120)
    assert np.abs(image.astype(int) - other).mean() < 0.1


def test_outer_faces_of_a_cube_close_it_and_point_outwards():
    for faces, count in ((outer_faces(CUBE_TETS), 12), (outer_faces(hexes=CUBE_HEX), 6)):
        assert len(faces) == count
        corners = CUBE[faces]
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert ((corners.mean(axis=1) - 0.5) * normal).sum(axis=1).min() > 0.0


def test_faces_of_more_than_one_element_are_inside():
    two = np.array([(0, 1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 5)])
    assert len(outer_faces(two)) == 9


def test_contact_sheet_places_images_row_by_row():
    images = [np.full((2, 3, 3), k, np.uint8) for k in range(3)]
    sheet = contact_sheet(images, columns=2)
    assert sheet.shape == (4, 6, 3)
    assert [sheet[0, 0, 0], sheet[0, 3, 0], sheet[2, 0, 0], sheet[2, 3, 0]] == [0, 1, 2, 255]
    with pytest.raises(SettingsError):
        contact_sheet([], columns=2)
