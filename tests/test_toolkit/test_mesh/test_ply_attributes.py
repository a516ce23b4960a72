"""Numbers that a PLY file gives its vertices: weights, colours, whatever has a name."""

import struct

import numpy as np
import pytest
from mesh_files import CUBE_OBJ
from shapes import QUADS, box

from jellycage.toolkit.errors import MeshError
from jellycage.toolkit.mesh.mesh import TriMesh, as_mesh
from jellycage.toolkit.mesh.mesh_io import read_mesh
from jellycage.toolkit.mesh.repair import solid_of
from jellycage.toolkit.prepare import build_cage

CODES = {"float": "f", "double": "d", "uchar": "B", "ushort": "H", "int": "i", "char": "b"}
STYLES = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}


def ply(style, properties, rows, polygons=QUADS):
    """A PLY file of any properties (name, type) with a row of numbers for each vertex."""
    head = [f"ply\nformat {style} 1.0\nelement vertex {len(rows)}"]
    head += [f"property {kind} {name}" for name, kind in properties]
    head += [f"element face {len(polygons)}\nproperty list uchar int vertex_indices\nend_header\n"]
    if style == "ascii":
        lines = [" ".join(map(repr, row)) for row in rows]
        lines += [" ".join(map(str, (len(p), *p))) for p in polygons]
        return "\n".join(head).encode() + "\n".join(lines).encode() + b"\n"
    order = STYLES[style]
    layout = order + "".join(CODES[kind] for _, kind in properties)
    body = b"".join(struct.pack(layout, *row) for row in rows)
    body += b"".join(struct.pack(f"{order}B{len(p)}i", len(p), *p) for p in polygons)
    return "\n".join(head).encode() + body


def box_rows(*extra):
    """x, y and z of a box's corners and further columns."""
    return [[*map(float, point), *values] for point, *values in zip(box()[0], *extra, strict=True)]


@pytest.fixture
def read(tmp_path):
    def read_bytes(content, name="box.ply"):
        (tmp_path / name).write_bytes(content)
        return read_mesh(tmp_path / name)

    return read_bytes


XYZ = [("x", "float"), ("y", "float"), ("z", "float")]
WEIGHTS = [0.0, 0.25, 0.5, 1.0, -3.0, 1e6, 0.125, 2.0]


@pytest.mark.parametrize("style", STYLES)
def test_every_scalar_property_is_an_attribute_in_every_encoding(read, style):
    counts = [0, -5, 7, 2**31 - 1, 1, 2, 3, 4]
    properties = [("hard", "double"), *XYZ, ("group", "int"), ("held", "float")]
    rows = [[w, *row[:3], n, w] for row, w, n in zip(box_rows(), WEIGHTS, counts, strict=True)]
    mesh = read(ply(style, properties, rows))
    assert list(mesh.attributes) == ["hard", "group", "held"]
    for name, values in (("hard", WEIGHTS), ("group", counts), ("held", WEIGHTS)):
        attribute = mesh.attributes[name]
        assert attribute.dtype == np.float64 and not attribute.flags.writeable
        np.testing.assert_array_equal(attribute, values)
    assert mesh.volume() == pytest.approx(1.0) and mesh.warnings == ()


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("kind", "full"), [("uchar", 255), ("ushort", 65535), ("float", 1.0)])
def test_colours_lie_between_0_and_1(read, style, kind, full):
    fractions = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 0.2, 0.4])
    values = [type(full)(fraction * full) for fraction in fractions]
    channels = ("red", "green", "blue", "alpha")
    properties = [*XYZ, *((name, kind) for name in channels)]
    mesh = read(ply(style, properties, box_rows(*[values] * 4)))
    for name in channels:
        np.testing.assert_allclose(mesh.attributes[name], fractions, atol=1e-7)


@pytest.mark.parametrize("style", STYLES)
def test_positions_normals_and_uvs_are_no_attributes(read, style):
    names = ["nx", "ny", "nz", "s", "t", "weight"]
    properties = [*XYZ, *((name, "float") for name in names)]
    mesh = read(ply(style, properties, box_rows(*[WEIGHTS] * 6)))
    assert list(mesh.attributes) == ["weight"]
    np.testing.assert_array_equal(mesh.uv[:, 0], WEIGHTS)


@pytest.mark.parametrize("names", [("u", "v"), ("texture_u", "texture_v")])
def test_uvs_of_any_name_are_no_attributes(read, names):
    properties = [*XYZ, *((name, "float") for name in names)]
    mesh = read(ply("ascii", properties, box_rows(WEIGHTS, WEIGHTS)))
    assert mesh.attributes == {} and mesh.uv is not None


def test_a_file_without_more_has_no_attributes(read):
    assert read(ply("ascii", XYZ, box_rows())).attributes == {}
    assert read(CUBE_OBJ.encode(), "cube.obj").attributes == {}
    assert as_mesh(box()).attributes == {}


def test_an_attribute_that_is_not_finite_is_left_out_with_a_warning(read):
    broken = [*WEIGHTS[:-1], float("nan")]
    properties = [*XYZ, ("bad", "float"), ("good", "float")]
    mesh = read(ply("binary_little_endian", properties, box_rows(broken, WEIGHTS)))
    assert list(mesh.attributes) == ["good"]
    assert len(mesh.warnings) == 1 and "'bad' is not finite" in mesh.warnings[0]


def test_attributes_stay_with_the_vertices_of_the_file(read):
    """Unused and doubled vertices, triangulation and repair: row k is still vertex k of the file."""
    rows = [*box_rows(WEIGHTS), [9.0, 9.0, 9.0, 77.0], *box_rows([8.0] * 8)[:1]]
    polygons = [*QUADS[1:], [9, *QUADS[0][1:]]]
    mesh = read(ply("ascii", [*XYZ, ("weight", "float")], rows, polygons))
    assert mesh.faces.shape == (12, 3)
    np.testing.assert_array_equal(mesh.attributes["weight"], [*WEIGHTS, 77.0, 8.0])
    solid = solid_of(mesh)
    assert len(solid.vertices) == 8 and solid.vertex_of[8] < 0
    asset = build_cage(mesh, resolution=3)
    weights = mesh.attributes["weight"][asset.source_vertex]
    assert 77.0 not in weights and len(weights) == len(asset.surface_vertices)
    np.testing.assert_array_equal(mesh.vertices[asset.source_vertex], asset.surface_vertices)


def test_attributes_of_another_length_are_refused():
    vertices, faces = box()
    given = np.arange(8.0)
    mesh = TriMesh(vertices, faces, attributes={"weight": given})
    given[0] = 5.0
    assert mesh.attributes["weight"][0] == 0.0
    with pytest.raises(MeshError, match="expected 8 numbers for 'weight'"):
        TriMesh(vertices, faces, attributes={"weight": np.zeros(7)})
    with pytest.raises(MeshError, match="shape"):
        TriMesh(vertices, faces, attributes={"weight": np.zeros((8, 1))})
