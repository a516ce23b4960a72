"""What all writers have in common."""

import numpy as np
import pytest
from moving_meshes import motion, quad_and_triangle, triangle, write_all

from jellycage.sim.errors import SettingsError
from jellycage.sim.export.frames import ExportMesh, FileWriter, FrameWriter, export_mesh, safe_names
from jellycage.sim.export.writers import WRITERS
from jellycage.toolkit.mesh.mesh import TriMesh, mesh_from_polygons

MESH = quad_and_triangle()
FRAMES = motion([MESH], 3)

all_formats = pytest.mark.parametrize("suffix", WRITERS)
one_file_formats = pytest.mark.parametrize(
    "suffix", [suffix for suffix, row in WRITERS.items() if issubclass(row.writer, FileWriter)]
)
one_mesh_formats = pytest.mark.parametrize(
    "suffix", [suffix for suffix, row in WRITERS.items() if row.writer.holds_one_mesh]
)


def writer(suffix, folder, meshes=(MESH,), **options):
    path = folder / f"bear{suffix}"
    return WRITERS[suffix].writer(path, list(meshes), frame_count=len(FRAMES), **options)


def test_the_table_has_every_kind_of_writer():
    writers = {row.writer for row in WRITERS.values()}
    known = {
        each for base in FrameWriter.__subclasses__() for each in [base, *base.__subclasses__()]
    }
    assert writers == known - {FileWriter} and len(writers) == len(WRITERS) > 3
    assert {row.writer.holds_one_mesh for row in WRITERS.values()} == {True, False}


@all_formats
def test_a_writer_names_what_it_wrote(suffix, tmp_path):
    with writer(suffix, tmp_path, first_frame=7) as out:
        for positions in FRAMES:
            out.write(positions)
    assert sorted(tmp_path.iterdir()) == out.written_paths


@all_formats
def test_which_way_is_up_is_the_formats_own_unless_told(suffix, tmp_path):
    usual = WRITERS[suffix].writer.usual_up_axis
    assert usual == ("Y" if suffix == ".abc" else "Z")
    assert writer(suffix, tmp_path).up_axis == usual
    assert writer(suffix, tmp_path, up_axis="Y").up_axis == "Y"


@one_file_formats
def test_nothing_is_there_before_the_end(suffix, tmp_path):
    with writer(suffix, tmp_path) as out:
        for positions in FRAMES:
            out.write(positions)
            assert not out.path.exists()
    assert list(tmp_path.iterdir()) == [out.path]


@one_file_formats
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupted_file_leaves_what_was_there(suffix, error, tmp_path):
    with pytest.raises(error), writer(suffix, tmp_path) as out:
        out.write(FRAMES[0])
        raise error
    assert list(tmp_path.iterdir()) == []
    out.path.write_bytes(b"old")
    with pytest.raises(error), writer(suffix, tmp_path) as out:
        out.write(FRAMES[0])
        raise error
    assert list(tmp_path.iterdir()) == [out.path] and out.path.read_bytes() == b"old"


@one_file_formats
def test_a_file_without_frames_is_refused(suffix, tmp_path):
    with pytest.raises(SettingsError, match="at least one"), writer(suffix, tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


@all_formats
def test_a_full_disk_is_an_oserror(suffix, tmp_path):
    resource = pytest.importorskip("resource")
    mesh = ExportMesh("many", 100_000, [0, 3], [0, 1, 2])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(OSError), writer(suffix, tmp_path, [mesh]) as out:
            for _ in range(3):
                out.write([np.random.default_rng(0).normal(size=(100_000, 3))])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


@all_formats
def test_a_missing_folder_is_named_before_any_work(suffix, tmp_path):
    with pytest.raises(FileNotFoundError, match="make it first"):
        writer(suffix, tmp_path / "none").__enter__()


@all_formats
def test_the_same_frames_give_the_same_bytes(suffix, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_all(writer(suffix, tmp_path / folder), FRAMES)
    a, b = (sorted((tmp_path / folder).iterdir()) for folder in "ab")
    assert [path.name for path in a] == [path.name for path in b] and a
    assert [path.read_bytes() for path in a] == [path.read_bytes() for path in b]


@all_formats
@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ([np.zeros((4, 3))], r"frame 8, mesh 'Bear': positions must have the shape \(5, 3\)"),
        ([np.zeros((5, 2))], r"got \(5, 2\)"),
        ([np.full((5, 3), np.nan)], "finite"),
        ([np.full((5, 3), 1e39)], "finite in single precision"),
        ([], "each of 1 meshes, got 0"),
        ([np.zeros((5, 3))] * 2, "each of 1 meshes, got 2"),
    ],
)
def test_positions_that_do_not_fit_are_refused_and_the_file_stays_whole(
    suffix, positions, message, tmp_path
):
    (tmp_path / "good").mkdir()
    write_all(writer(suffix, tmp_path / "good", first_frame=7), FRAMES)
    with writer(suffix, tmp_path, first_frame=7) as out:
        out.write(FRAMES[0])
        with pytest.raises(SettingsError, match=message):
            out.write(positions)
        for each in FRAMES[1:]:
            out.write(each)
    for path in (tmp_path / "good").iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fps": 0}, "fps"),
        ({"fps": np.nan}, "fps"),
        ({"scale": -1.0}, "scale"),
        ({"scale": np.inf}, "scale"),
        ({"up_axis": "X"}, "'Y' or 'Z'"),
        ({"first_frame": 1.5}, "whole number"),
        ({"first_frame": np.nan}, "whole number"),
        ({"meshes": []}, "at least one"),
    ],
)
@all_formats
def test_settings_out_of_range_are_refused(suffix, options, message, tmp_path):
    with pytest.raises(SettingsError, match=message):
        writer(suffix, tmp_path, **options)


@one_mesh_formats
def test_a_point_cache_holds_one_mesh(suffix, tmp_path):
    with pytest.raises(SettingsError, match="a file for each"):
        writer(suffix, tmp_path, [MESH, triangle()])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vertex_count": 0}, "no vertices"),
        ({"polygon_start": [0, 4]}, "rise from 0 to 7"),
        ({"polygon_start": []}, "rise from 0 to 7"),
        ({"polygon_start": [4, 7]}, "rise from 0 to 7"),
        ({"polygon_start": [0, 5, 7]}, "three corners"),
        ({"polygon_vertices": [0, 1, 2, 3, 0, 3, 5]}, r"\[0, 5\), got 0..5"),
        ({"polygon_vertices": [0, 1, 2, 3, 0, 3, -1]}, r"got -1..3"),
        ({"uv_index": [0, 1, 2, 1, 0, -1, 3]}, r"\[-1, 3\)"),
        ({"uv_index": [0, 1, 2]}, "7 rows"),
        ({"uv_index": None}, "give both"),
        ({"uv": [[0.0, 0.0, 0.0]]}, r"\(k, 2\)"),
    ],
)
def test_meshes_that_contradict_themselves_are_refused(change, message):
    with pytest.raises(SettingsError, match=message):
        ExportMesh(**{**vars(MESH), **change})


def test_a_mesh_of_polygons_keeps_them():
    x = np.random.default_rng(0).normal(size=(5, 3))
    corners = {"uv": MESH.uv, "uv_index": MESH.uv_index, "name": "Bear"}
    mesh = export_mesh(mesh_from_polygons(x, [0, 4, 7], MESH.polygon_vertices, **corners))
    for key, value in vars(MESH).items():
        assert np.array_equal(getattr(mesh, key), value)


def test_a_mesh_of_triangles_has_polygons_of_three():
    mesh = export_mesh(TriMesh(np.eye(3), [[0, 1, 2], [2, 1, 0]], name="a"), "b")
    assert mesh.name == "b" and mesh.uv is None
    assert mesh.polygon_start.tolist() == [0, 3, 6]
    assert mesh.polygon_vertices.tolist() == [0, 1, 2, 2, 1, 0]


def test_the_arrays_of_a_mesh_are_its_own():
    start = np.array([0, 3], np.int32)
    mesh = ExportMesh("a", 3, start, [0, 1, 2])
    start[1] = 7
    assert mesh.polygon_start.tolist() == [0, 3] and not mesh.polygon_start.flags.writeable


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["Bär", "熊 🐻"], ["Bär", "熊 🐻"]),
        (["a", "a", "a", "a_2"], ["a", "a_2", "a_3", "a_2_2"]),
        (["a/b;c=d\n", ""], ["a_b_c_d_", "mesh"]),
        (["a/b", "a=b", " "], ["a_b", "a_b_2", "mesh"]),
        (["\ud800x"], ["?x"]),
    ],
)
def test_names_are_safe_and_unique(names, expected):
    assert safe_names(names) == expected
