import numpy as np
import pytest
from moving_meshes import cube, motion, quad_and_triangle, triangle, write_all
from shapes import random_rotation

from jellycage.sim.export.frames import ExportMesh
from jellycage.sim.export.obj_sequence import ObjSequenceWriter, vertex_normals
from jellycage.toolkit.mesh.mesh_io import read_mesh

BEAR, PLATE = quad_and_triangle(), triangle()


def rows(path, key):
    """The numbers of all lines with the key."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return np.array([line.split()[1:] for line in lines if line.split()[0] == key], float)


@pytest.mark.parametrize(
    ("first_frame", "names"),
    [
        (1, ["bear_0001.obj", "bear_0002.obj"]),
        (1001, ["bear_1001.obj", "bear_1002.obj"]),
        (9999, ["bear_10000.obj", "bear_9999.obj"]),
    ],
)
def test_files_are_numbered_by_frame(first_frame, names, tmp_path):
    writer = ObjSequenceWriter(tmp_path / "bear.obj", [BEAR], first_frame=first_frame)
    write_all(writer, motion([BEAR], 2))
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_every_float32_comes_back_to_the_bit(tmp_path):
    bits = np.random.default_rng(0).integers(0, 2**32, 60_000, dtype=np.uint32)
    extremes = np.array([0.0, -0.0, 1e-45, -1.1754944e-38, 3.4028235e38, 0.1], np.float32)
    x = np.concatenate([bits.view(np.float32), extremes])
    x = x[np.isfinite(x)]
    x = x[: len(x) // 3 * 3].reshape(-1, 3)
    mesh = ExportMesh("numbers", len(x), [0, 3], [0, 1, 2])
    write_all(ObjSequenceWriter(tmp_path / "a.obj", [mesh]), [[x]])
    found = read_mesh(tmp_path / "a_0001.obj").vertices.astype(np.float32)
    assert found.tobytes() == x.tobytes()


@pytest.mark.parametrize("up_axis", ["Y", "Z"])
def test_axes_and_scale(up_axis, tmp_path):
    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.5]])
    writer = ObjSequenceWriter(tmp_path / "a.obj", [PLATE], up_axis=up_axis, scale=10.0)
    write_all(writer, [[x]])
    expected = 10 * (x[:, [0, 2, 1]] * [1, 1, -1] if up_axis == "Y" else x)
    assert np.array_equal(rows(tmp_path / "a_0001.obj", "v"), expected)


def test_polygons_and_uvs_of_several_meshes_are_kept(tmp_path):
    meshes = [BEAR, PLATE, quad_and_triangle("Bear")]
    frames = motion(meshes, 2)
    write_all(ObjSequenceWriter(tmp_path / "a.obj", meshes), frames)
    path = tmp_path / "a_0002.obj"
    mesh = read_mesh(path)
    assert np.array_equal(mesh.vertices.astype(np.float32), np.concatenate(frames[1]).astype("f4"))
    assert mesh.polygon_start.tolist() == [0, 4, 7, 10, 14, 17]
    first = BEAR.polygon_vertices.tolist()
    expected = [*first, 5, 6, 7, *(8 + v for v in first)]
    assert mesh.polygon_vertices.tolist() == expected
    assert np.array_equal(mesh.uv, np.concatenate([BEAR.uv, BEAR.uv]))
    assert mesh.uv_index.tolist() == [0, 1, 2, 1, 0, -1, 2, -1, -1, -1, 3, 4, 5, 4, 3, -1, 5]
    lines = path.read_text().splitlines()
    assert [line for line in lines if line[0] == "o"] == ["o Bear", "o Plate", "o Bear_2"]
    assert lines.count("f 1/1/1 2/2/2 3/3/3 4/2/4") == 1 and "f 6//6 7//7 8//8" in lines


def test_normals_of_a_cube_point_from_its_middle_and_turn_with_it(tmp_path):
    mesh, x = cube()
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    write_all(ObjSequenceWriter(tmp_path / "a.obj", [mesh]), [[x], [x @ turn.T]])
    diagonal = (2 * x - 1) / np.sqrt(3)
    assert np.allclose(rows(tmp_path / "a_0001.obj", "vn"), diagonal, atol=1e-6)
    assert np.allclose(rows(tmp_path / "a_0002.obj", "vn"), diagonal @ turn.T, atol=1e-6)


def test_the_normal_of_a_small_polygon_that_turns_inwards_far_from_the_origin():
    flat = np.array([[0, 0, 0], [4, 0, 0], [4, 4, 0], [2, 1, 0], [0, 4, 0], [9, 9, 9]], float)
    turn = random_rotation(0)
    x = 1e-3 * flat @ turn.T + [1e4, -2e4, 3e4]
    normals = vertex_normals(x, np.array([0, 5]), np.arange(5))
    # The positions themselves are rounded by 4e-12 of 1e-3.
    assert np.allclose(normals[:5], turn @ [0, 0, 1], rtol=0, atol=1e-8)
    assert np.array_equal(normals[5], [0, 0, 1])


def test_larger_faces_count_more():
    """A vertex between a face of area 3 towards +x and one of area 4 towards +y."""
    x = np.array([[0, 0, 0], [0, 6, 0], [0, 0, 1], [0, 0, 8], [1, 0, 0]], float)
    normals = vertex_normals(x, np.array([0, 3, 6]), np.array([0, 1, 2, 0, 3, 4]))
    assert np.allclose(normals[0], [0.6, 0.8, 0.0])


def test_meshes_without_faces_get_unit_normals():
    normals = vertex_normals(np.zeros((2, 3)), np.array([0]), np.zeros(0, int))
    assert np.array_equal(normals, [[0, 0, 1], [0, 0, 1]])


def test_an_error_leaves_the_whole_frames_before_it(tmp_path):
    frames = motion([BEAR], 2)
    with pytest.raises(KeyboardInterrupt):
        with ObjSequenceWriter(tmp_path / "a.obj", [BEAR]) as writer:
            writer.write(frames[0])
            raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["a_0001.obj"]
    assert len(read_mesh(tmp_path / "a_0001.obj").vertices) == 5


def test_a_name_in_any_script(tmp_path):
    write_all(ObjSequenceWriter(tmp_path / "熊.obj", [triangle("熊\nf")]), motion([PLATE], 1))
    assert (tmp_path / "熊_0001.obj").read_text(encoding="utf-8").splitlines()[0] == "o 熊_f"
