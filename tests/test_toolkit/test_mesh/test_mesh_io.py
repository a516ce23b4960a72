"""Files in, files out; and whatever the bytes are, one clean line."""

import time
import tracemalloc

import numpy as np
import pytest
from mesh_files import (
    CUBE_OBJ,
    ascii_ply,
    binary_ply,
    binary_stl,
    npy_bytes,
    off,
    ply_header,
    samples,
)
from shapes import QUADS, ball, box, inside_out, together

from jellycage.toolkit.errors import MeshError
from jellycage.toolkit.mesh.mesh import as_mesh
from jellycage.toolkit.mesh.mesh_io import KNOWN, read_mesh, write_obj
from jellycage.toolkit.mesh.repair import solid_of


@pytest.fixture
def put(tmp_path):
    """A function that writes bytes or text to a file and gives its path."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The bytes of a valid small file of every kind."""
    pytest.importorskip("trimesh")
    pytest.importorskip("meshio")
    return samples(tmp_path_factory.mktemp("samples"))


def assert_refused(path, *words):
    """The file is refused in one line that names it, with these words."""
    with pytest.raises(MeshError) as caught:
        read_mesh(path)
    text = str(caught.value)
    assert path.name in text and "\n" not in text and ";" in text
    assert all(word in text for word in words), text


def test_every_format_gives_the_same_ball(files, put):
    expected = as_mesh(ball(1))
    for name, content in files.items():
        mesh = read_mesh(put(name, content))
        if name in ("cube.obj", "mixed.ply"):
            assert mesh.volume() == pytest.approx(1.0), name
            continue
        solid = solid_of(mesh)
        assert mesh.volume() == pytest.approx(expected.volume(), rel=1e-6), name
        assert solid.warnings == () and len(solid.vertices) == len(expected.vertices), name
        assert mesh.name == name.split(".")[0]


def test_scene_transforms_are_applied_and_uvs_kept(files, put):
    for name in ("scene.glb", "scene.gltf"):
        mesh = read_mesh(put(name, files[name]))
        assert np.allclose(mesh.bounds(), [[4, -1, -1], [6, 1, 1]])
        assert mesh.uv is not None and len(mesh.uv_index) == 3 * len(mesh.faces)


def test_doubles_stay_doubles(put):
    vertices, faces = ball(1)
    vertices = vertices + 1e8
    for content in (binary_ply(vertices, faces, "double"), ascii_ply(vertices, faces)):
        assert np.array_equal(read_mesh(put("far.ply", content)).vertices, vertices)
    assert np.array_equal(read_mesh(put("far.off", off(vertices, faces))).vertices, vertices)


def test_tiny_models_are_not_merged(put):
    vertices, faces = ball(2, 1e-9)
    mesh = read_mesh(put("tiny.ply", binary_ply(vertices, faces, "double")))
    assert len(solid_of(mesh).vertices) == len(vertices)


@pytest.mark.parametrize("order", "<>")
def test_ply_polygons_are_kept(put, order):
    polygons = [[0, 3, 2], [0, 2, 1], *QUADS[1:]]
    for content in (binary_ply(box()[0], polygons, order=order), ascii_ply(box()[0], polygons)):
        mesh = read_mesh(put("mixed.ply", content))
        rows = np.split(mesh.polygon_vertices, mesh.polygon_start[1:-1])
        assert [row.tolist() for row in rows] == polygons


def test_ply_uvs_are_kept(put):
    extra = "property float s\nproperty float t\n"
    rows = np.hstack([np.eye(3), [[0.5, 0.25]] * 3]).astype("<f4").tobytes()
    face = b"\x03" + np.arange(3, dtype="<i4").tobytes()
    mesh = read_mesh(put("uv.ply", ply_header(3, 1, extra=extra) + rows + face))
    assert np.array_equal(mesh.uv[mesh.uv_index], [[0.5, 0.25]] * 3)


def test_obj_keeps_vertex_order_polygons_and_uvs(put, tmp_path):
    text = CUBE_OBJ.replace("f 1 4 3 2", "vt 0 0\nvt 1 0\nvt 1 1\nf 1/1 4/2 3/3 2")
    mesh = read_mesh(put("cube.obj", "o cube\ns off\n" + text))
    assert np.array_equal(mesh.vertices, box()[0]) and mesh.warnings == ()
    assert mesh.uv_index[:5].tolist() == [0, 1, 2, -1, -1]
    write_obj(mesh, tmp_path / "again.obj")
    again = read_mesh(tmp_path / "again.obj")
    for key in ("vertices", "faces", "polygon_start", "polygon_vertices", "uv", "uv_index"):
        assert np.array_equal(getattr(again, key), getattr(mesh, key)), key


def test_written_positions_come_back_bit_for_bit(tmp_path):
    vertices, faces = ball(2)
    mesh = as_mesh((vertices, faces))
    moved = vertices * np.pi + 1e8
    write_obj(mesh, tmp_path / "moved.obj", moved)
    assert np.array_equal(read_mesh(tmp_path / "moved.obj").vertices, moved)
    assert [path.name for path in tmp_path.iterdir()] == ["moved.obj"]
    with pytest.raises(MeshError, match="expected"):
        write_obj(mesh, tmp_path / "moved.obj", moved[:-1])


def test_obj_prism_with_lines_points_and_a_missing_library_has_one_warning(put):
    angle = 2 * np.pi * np.arange(12) / 12
    ring = [(0.5 * np.cos(a), 0.5 * np.sin(a)) for a in angle]
    text = "mtllib missing.mtl\n" + "".join(f"v {x} {y} {z}\n" for z in (0, 1) for x, y in ring)
    text += "vt 0 0\nvn 0 0 1\nusemtl m\nf " + " ".join(f"{12 - k}/1/1" for k in range(12))
    text += "\nf " + " ".join(f"{13 + k}/1/1" for k in range(12)) + "\n"
    for k in range(12):
        a, b = k + 1, (k + 1) % 12 + 1
        text += f"f {a}/1/1 {b}/1/1 {b + 12}/1/1 {a + 12}/1/1\n"
    mesh = read_mesh(put("prism.obj", text + "l 1 2 3\np 5\nzebra\n"))
    assert mesh.volume() == pytest.approx(12 * 0.125 * np.sin(np.pi / 6), rel=1e-12)
    assert len(mesh.warnings) == 1 and mesh.polygon_count() == 14
    assert all(word in mesh.warnings[0] for word in ("mtllib", "l (1)", "p (1)", "zebra"))


def test_obj_negative_indices_count_back_from_their_line(put):
    vertices, faces = box()
    text = ""
    for triangle in vertices[faces]:
        text += "".join(f"v {x!r} {y!r} {z!r}\n" for x, y, z in triangle.tolist())
        text += "f -3 -2 -1\n"
    mesh = read_mesh(put("relative.obj", text))
    assert np.array_equal(mesh.faces, np.arange(36).reshape(-1, 3)) and mesh.volume() == 1.0


def test_obj_oddities_of_real_files_are_read(put):
    text = (
        b"\xff\xfe comment?\n# caf\xe9 \xff\n"
        + CUBE_OBJ.replace("f 5 6 7 8", "f 5 6 \\\n7 8").encode()
    )
    text = text.replace(b"\n", b"\r\n").replace(b"v 1 1 1", b"v\t1 1.0e0 +1 0.5 0.5 0.5 # red")
    assert read_mesh(put("odd.obj", text)).volume() == pytest.approx(1.0)


def test_a_hundred_thousand_faces_are_read_in_well_under_a_second(tmp_path):
    vertices, faces = ball(7)
    write_obj(as_mesh((vertices, faces)), tmp_path / "large.obj")
    start = time.perf_counter()
    assert len(read_mesh(tmp_path / "large.obj").faces) == 131072
    assert time.perf_counter() - start < 3.0  # about 0.4 s; the rest is room for a busy machine


def test_names_that_are_not_ascii_are_no_problem(put, tmp_path):
    path = put("naïve_モデル/球 ball ñ.ply", binary_ply(*ball(1)))
    mesh = read_mesh(path)
    write_obj(mesh, path.with_name("球 out.obj"))
    assert len(read_mesh(path.with_name("球 out.obj")).faces) == len(mesh.faces)


def with_fin(mesh):
    """One more triangle that stands on the first edge."""
    vertices, faces = mesh
    return np.vstack([vertices, [3, 3, 3]]), np.vstack([faces, [*faces[0][:2], len(vertices)]])


def with_slivers(mesh):
    """Faces with a repeated index, and one on three vertices in the same place."""
    vertices, faces = mesh
    n = len(vertices)
    slivers = [[0, 0, 1], [1, 2, 2], [n, n + 1, n + 2]]
    return np.vstack([vertices, vertices[[5, 5, 5]]]), np.vstack([faces, slivers])


def twice(mesh):
    """Every face two times."""
    return mesh[0], np.vstack([mesh[1], mesh[1]])


def strewn(mesh):
    """Vertices that no face uses, far away."""
    return np.vstack([mesh[0], np.full((300, 3), 5.0)]), mesh[1]


SHEET = (1.0, 1.0, 0.02)
DIRTY = {
    "open": ((box()[0], box()[1][2:]), 1, 1.0, "1 hole (4 boundary edges) closed"),
    "fin": (with_fin(box()), 1, 1.0, "1 edge is shared by more than two"),
    "inverted": (inside_out(box()), 1, 1.0, "All 12 faces pointed inwards"),
    "duplicate": (twice(box()), 1, 1.0, "12 faces left out"),
    "degenerate": (with_slivers(box()), 1, 1.0, "3 faces without area"),
    "far": (box((1, 1, 1), (1e8, 1e8, 1e8)), 1, 1.0, ""),
    "tiny": (box((1e-6, 1e-6, 1e-6)), 1, 1e-18, ""),
    "three": (together(*(box((1, 1, 1), (2 * k, 0, 0)) for k in range(3))), 3, 3.0, "3 separate"),
    "cavity": (
        together(box((3, 3, 3)), inside_out(box((1, 1, 1), (1, 1, 1)))),
        2,
        26.0,
        "a cavity",
    ),
    "nested": (together(box((3, 3, 3)), box((1, 1, 1), (1, 1, 1))), 2, 28.0, "overlaps another"),
    "thin": (box((1, 1, 0.002)), 1, 0.002, ""),
    "parallel": (together(box(SHEET), box(SHEET, (0, 0, 0.025))), 2, 0.04, "2 separate parts"),
    "unused": (strewn(box()), 1, 1.0, "300 vertices in no face"),
    "bowtie": (together(box(), box((1, 1, 1), (1, 1, 1))), 2, 2.0, "2 separate parts"),
}


@pytest.mark.parametrize("kind", DIRTY)
def test_dirty_files_give_the_solid_they_mean_and_say_what_was_done(put, kind):
    mesh, shells, volume, sentence = DIRTY[kind]
    solid = solid_of(read_mesh(put(f"{kind}.ply", binary_ply(*mesh, "double"))))
    assert solid.shell_count == shells
    # Positions near 1e8 are rounded to 1.5e-8; overlapping parts count twice in a signed volume.
    assert as_mesh((solid.vertices, solid.faces)).volume() == pytest.approx(volume, rel=1e-6)
    assert sentence in " ".join(solid.warnings) and (sentence or not solid.warnings)


def test_two_crossing_copies_are_read_and_named(put):
    crossing = together(ball(2), ball(2, 1.0, (0.7, 0.1, 0.2)))
    solid = solid_of(read_mesh(put("crossing.ply", binary_ply(*crossing))))
    assert solid.shell_count == 2 and solid.boundary_edges == 0


def test_a_flat_sheet_is_read_and_refused_as_a_solid(put):
    text = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n"
    with pytest.raises(MeshError, match="planar has no volume.*Solidify"):
        solid_of(read_mesh(put("planar.obj", text)))


def test_a_binary_stl_named_obj_is_read_as_stl_with_a_warning(put):
    mesh = read_mesh(put("is_stl.obj", binary_stl(*ball(1))))
    assert len(mesh.faces) == 32 and "holds STL" in mesh.warnings[0]
    assert solid_of(mesh).boundary_edges == 0


def test_files_that_hold_no_mesh_are_refused(put):
    vertices, faces = ball(2)
    good = binary_ply(vertices, faces)
    broken = vertices.copy()
    broken[:2] = np.nan
    garbage = np.random.default_rng(0).bytes(40_000)
    assert_refused(put("empty.obj", ""), "empty")
    assert_refused(put("nothing.ply", ply_header(0, 0, "ascii")), "no vertices")
    assert_refused(put("cut.ply", good[: len(good) * 6 // 10]), "cut short")
    assert_refused(put("points.ply", ascii_ply(vertices, [])), "no faces")
    assert_refused(put("points2.ply", ply_header(1, None) + bytes(12)), "no faces", "1 vertices")
    assert_refused(put("points.obj", "v 0 0 0\nv 1 0 0\n"), "no faces")
    assert_refused(put("nan.ply", binary_ply(broken, faces)), "2 of 66", "not finite")
    assert_refused(put("nan.obj", "v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"), "1 of 3")
    assert_refused(put("range.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n"), "number 4")
    assert_refused(put("zero.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n"), "number 0")
    assert_refused(put("range.ply", binary_ply(np.eye(3), [[0, 1, 9]])), "indices")
    assert_refused(put("range.off", off(np.eye(3), [[0, 1, -1]])), "indices")
    assert_refused(put("other.xyz", "1 2 3"), *(f".{name}" for name in KNOWN))
    assert_refused(put("other.ply", npy_bytes(vertices)), "no PLY")
    for ending in KNOWN:
        assert_refused(put(f"garbage.{ending}", garbage))


@pytest.mark.parametrize("count", [2**31 - 1, 2**32 - 1, 10**14])
def test_huge_announced_counts_cost_no_memory(put, count):
    stl = bytes(80) + (count % 2**32).to_bytes(4, "little") + bytes(500)
    contents = {
        "huge.ply": ply_header(count, count) + bytes(500),
        "faces.ply": ply_header(3, count) + bytes(500),
        "text.ply": ply_header(count, count, "ascii") + b"0 " * 500,
        "huge.stl": stl,
        "huge.off": b"OFF\n%d %d 0\n0 0 0\n" % (count, count),
        "huge.vtk": b"# vtk DataFile Version 4.2\nx\nBINARY\nDATASET UNSTRUCTURED_GRID\n"
        b"POINTS %d double\n" % count + bytes(100),
        "huge.mesh": b"MeshVersionFormatted 1\nDimension 3\nVertices\n%d\n0 0 0 1\n" % count,
        "huge.msh": b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n1\n%d 0 0 0\n" % count,
        "huge.gltf": b'{"asset":{"version":"2.0"},"accessors":[{"count":%d,"type":"VEC3",'
        b'"componentType":5126}]}' % count,
    }
    tracemalloc.start()
    for name, content in contents.items():
        assert_refused(put(name, content))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # libraries imported on the way included


def test_paths_that_are_no_files_are_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_mesh(tmp_path / "nowhere.obj")
    with pytest.raises(IsADirectoryError, match="folder"):
        read_mesh(tmp_path)
    with pytest.raises(OSError, match="zero byte"):
        read_mesh("a\0b.obj")


def mutated(content, rng):
    """The bytes with a few flips, a cut or a splice."""
    data = bytearray(content)
    kind = rng.integers(4)
    if kind == 0:
        for at in rng.integers(len(data), size=rng.integers(1, 8)):
            data[at] = rng.integers(256)
    elif kind == 1:
        del data[rng.integers(len(data)) :]
    elif kind == 2:
        a, b = np.sort(rng.integers(len(data), size=2))
        at = rng.integers(len(data))
        data[at:at] = data[a:b]
    else:  # digits become other digits, which is what counts and indices are made of
        digits = [at for at, byte in enumerate(data[:400]) if 48 <= byte < 58]
        for at in rng.choice(digits or [0], size=3):
            data[at] = 48 + rng.integers(10)
    return bytes(data)


def test_damaged_files_raise_only_clean_errors(files, put):
    tracemalloc.start()
    for name, content in files.items():
        for seed in range(40):
            damaged = mutated(content, np.random.default_rng(seed))
            try:
                mesh = read_mesh(put("x" + name, damaged))
            except (MeshError, OSError) as error:
                assert "\n" not in str(error) and len(str(error)) < 600, (name, seed)
            else:
                assert len(mesh.faces) and np.isfinite(mesh.vertices).all(), (name, seed)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_a_file_cut_anywhere_is_never_a_partial_mesh(files, put):
    # OBJ and Abaqus files announce nothing: a cut at the end of a line cannot be seen there.
    for name in (name for name in files if not name.endswith((".obj", ".inp"))):
        whole = read_mesh(put("whole-" + name, files[name]))
        for end in np.linspace(1, len(files[name]) - 1, 40).astype(int):
            try:
                mesh = read_mesh(put("cut-" + name, files[name][:end]))
            except MeshError:
                continue
            assert np.array_equal(mesh.faces, whole.faces), (name, end)
            assert np.array_equal(mesh.vertices, whole.vertices), (name, end)
