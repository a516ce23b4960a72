import gc
import hashlib
import io
import tracemalloc

import alembic3d.Abc as Abc
import imath
import numpy as np
import pytest
from alembic_library import LibraryMesh, library_archive, numbers, read_objects
from moving_meshes import cube, motion, quad_and_triangle, triangle, write_all, y_up
from ogawa_tree import archive_tree

from jellycage.sim.errors import SettingsError
from jellycage.sim.export.alembic import (
    BOX,
    POINT,
    POLYMESH,
    POLYMESH_OBJECT,
    XFORM,
    XFORM_OBJECT,
    AlembicWriter,
    reversed_corners,
)
from jellycage.sim.export.frames import ExportMesh
from jellycage.sim.export.ogawa import Archive, Compound, Object, Samples

BEAR, PLATE = quad_and_triangle(), triangle()
EXAMPLE_DIGEST = "4dfb4b60172392baba7449d0006b41b0af0a586ebdcba03103a56d1f604c15e5"


def points(schema, frame):
    return numbers(schema.getPositionsProperty().getValue(frame))


def box(prop, frame):
    value = prop.getValue(frame)
    return np.array([list(value.min()), list(value.max())])


def same_bits(a, b):
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def archive_bounds(archive):
    return Abc.IBox3dProperty(archive.getTop().getProperties(), ".childBnds")


def test_the_worked_example_comes_out_byte_by_byte():
    """One triangle that rises, written by the reference library's rules: 1734 bytes."""
    file = io.BytesIO()
    archive = Archive(file, 1 / 24, 1 / 24)
    inherits = Samples(archive, ".inherits", np.bool_).push([True])
    matrix = Samples(archive, ".vals", np.float64, 16).push(np.eye(4))
    ops = Samples(archive, ".ops", np.uint8, is_timeless=True).push([0x30])
    corners = Samples(archive, ".faceIndices", np.int32, is_array=True).push([0, 1, 2])
    counts = Samples(archive, ".faceCounts", np.int32, is_array=True).push([3])
    x = Samples(archive, "P", np.float32, 3, is_array=True, metadata=POINT)
    bounds = Samples(archive, ".selfBnds", np.float64, 6, metadata=BOX)
    for z in (0, 1):
        x.push([[0, 0, z], [1, 0, z], [0, 1, z]])
        bounds.push([0, 0, z, 1, 1, z])
    corners.repeat()
    counts.repeat()
    shape = Compound(".geom", POLYMESH, [bounds, x, corners, counts])
    transform = Compound(".xform", XFORM, [inherits, ops, matrix])
    child = Object("TriShape", POLYMESH_OBJECT, [shape])
    top = Object("ABC", "", [], [Object("Tri", XFORM_OBJECT, [transform], [child])])
    archive.close(top, "_ai_AlembicVersion=Alembic 1.8.12;_ai_Application=demo")
    assert hashlib.sha256(file.getvalue()).hexdigest() == EXAMPLE_DIGEST


HOLDS = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
"""Which of four poses each frame shows: repeats at the start, in the middle and at the end."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mesh", "has_velocities", "poses"),
    [
        (BEAR, False, range(5)),
        (BEAR, True, range(5)),
        (PLATE, False, HOLDS),
        (BEAR, True, HOLDS),
        (BEAR, False, [0, 1, 1, 1]),
        (BEAR, False, [0, 1, 0]),
        (PLATE, True, [0, 0, 0]),
        (PLATE, False, [0]),
        (PLATE, True, range(300)),
        pytest.param(BEAR, False, range(70_000), marks=pytest.mark.slow),
    ],
    ids=["uv", "velocities", "holds", "all", "end", "return", "still", "one", "300", "70000"],
)
def test_the_tree_is_that_of_the_reference_library(mesh, has_velocities, poses, tmp_path):
    """Samples, digests, hashes, headers, times: equal but for the date and the build of the library."""
    rows = np.random.default_rng(3).normal(size=(max(poses) + 1, mesh.vertex_count, 3))
    frames = [[rows[pose]] for pose in poses]
    velocities = frames if has_velocities else None
    writer = AlembicWriter(tmp_path / "ours.abc", [mesh], fps=25, first_frame=1001)
    ours = archive_tree(write_all(writer, frames, velocities).read_bytes())

    archive, sampling = library_archive(tmp_path / "theirs.abc", 25.0, 1001)
    properties = archive.getTop().getProperties()
    bounds = Abc.OBox3dProperty(properties, ".childBnds", Abc.Argument(sampling))
    order = reversed_corners(mesh.polygon_start)
    uv = () if mesh.uv is None else ([*mesh.uv, [0, 0]], np.array([0, 1, 2, 1, 0, 3, 2])[order])
    corners = mesh.polygon_vertices[order]
    peer = LibraryMesh(archive, sampling, mesh.name, np.diff(mesh.polygon_start), corners, *uv)
    for [x] in frames:
        x = y_up(x)
        peer.push(x, x if has_velocities else None)
        low, high = (imath.V3d(*end.tolist()) for end in (x.min(axis=0), x.max(axis=0)))
        bounds.setValue(imath.Box3d(low, high))
    del archive, properties, bounds, peer
    gc.collect()  # the library writes the end of a file when nothing refers to it any more
    theirs = archive_tree((tmp_path / "theirs.abc").read_bytes())

    for tree in (ours, theirs):
        pairs = [pair.split("=") for pair in tree.pop("metadata").split(";")]
        kept = {key: value for key, value in pairs if key != "_ai_DateWritten"}
        assert kept.pop("_ai_AlembicVersion").startswith("Alembic 1.8.12")
        assert kept == {"_ai_Application": "Jellycage", "_ai_DCC_FPS": "25.000000"}
    assert ours == theirs


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("up_axis", "placed"), [("Y", y_up), ("Z", np.float32)])
def test_positions_of_every_frame_and_body_come_back_to_the_bit(dtype, up_axis, placed, tmp_path):
    meshes = [BEAR, PLATE]
    frames = motion(meshes, 6, dtype=dtype)
    frames[2][0][1] = 0.0  # gives a -0.0 with y down
    path = write_all(AlembicWriter(tmp_path / "a.abc", meshes, up_axis=up_axis), frames)
    archive, objects = read_objects(path)
    assert len(objects) == 2
    for body, (_, _, schema) in enumerate(objects):
        assert schema.getNumSamples() == 6
        for frame, positions in enumerate(frames):
            assert same_bits(points(schema, frame), placed(positions[body]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_scale_rounds_once(dtype, tmp_path):
    frames = motion([BEAR], 2, dtype=dtype)
    path = write_all(AlembicWriter(tmp_path / "a.abc", [BEAR], scale=100.1), frames)
    archive, [(_, _, schema)] = read_objects(path)
    for frame, [x] in enumerate(frames):
        assert same_bits(points(schema, frame), y_up(x.astype(float) * 100.1))


@pytest.mark.parametrize("fps", [24, 25.0, 23.976, 120])
@pytest.mark.parametrize("first_frame", [1, 0, 1001, -10])
def test_frame_numbers_are_time_times_fps(fps, first_frame, tmp_path):
    writer = AlembicWriter(tmp_path / "a.abc", [PLATE], fps=fps, first_frame=first_frame)
    archive, [(_, _, schema)] = read_objects(write_all(writer, motion([PLATE], 4)))
    times = schema.getTimeSampling()
    frames = [times.getSampleTime(i) * fps for i in range(4)]
    assert np.allclose(frames, first_frame + np.arange(4), rtol=0, atol=1e-9)
    assert Abc.GetArchiveInfo(archive)["dccFPS"] == fps
    assert Abc.GetArchiveInfo(archive)["appName"] == "Jellycage"
    assert Abc.GetArchiveInfo(archive)["whenWritten"] == ""


def test_faces_are_turned_around_and_stay_the_same_in_all_frames(tmp_path):
    path = write_all(AlembicWriter(tmp_path / "a.abc", [BEAR]), motion([BEAR], 3))
    archive, [(_, _, schema)] = read_objects(path)
    assert str(schema.getTopologyVariance()) == "kHomogenousTopology"
    for frame in range(3):
        corners = numbers(schema.getFaceIndicesProperty().getValue(frame))
        assert corners.tolist() == [3, 2, 1, 0, 4, 3, 0]
        assert numbers(schema.getFaceCountsProperty().getValue(frame)).tolist() == [4, 3]


@pytest.mark.parametrize("up_axis", ["Y", "Z"])
def test_a_cube_is_clockwise_from_outside(up_axis, tmp_path):
    mesh, x = cube()
    path = write_all(AlembicWriter(tmp_path / "a.abc", [mesh], up_axis=up_axis), [[x]])
    archive, [(_, _, schema)] = read_objects(path)
    corners = numbers(schema.getFaceIndicesProperty().getValue(0)).reshape(-1, 4)
    a, b, c, d = points(schema, 0).astype(float)[corners].transpose(1, 0, 2)
    volume = (np.cross(a, b) * c + np.cross(a, c) * d).sum() / 6
    assert volume == pytest.approx(-1.0)


def test_uvs_follow_the_corners(tmp_path):
    path = write_all(AlembicWriter(tmp_path / "a.abc", [BEAR]), motion([BEAR], 2))
    archive, [(_, _, schema)] = read_objects(path)
    uv = schema.getUVsParam()
    assert uv.isIndexed() and str(uv.getScope()) == "kFacevaryingScope" and uv.isConstant()
    expected = [*BEAR.uv, [0.0, 0.0]]  # the corner without a UV gets the origin
    expected = [expected[row] for row in (1, 2, 1, 0, 2, 3, 0)]
    assert np.array_equal(numbers(uv.getExpandedValue(1).getVals()), expected)
    assert len(uv.getIndexedValue(1).getVals()) == 4


def test_a_mesh_without_missing_uvs_gets_no_other(tmp_path):
    mesh, x = cube()
    archive, [(_, _, schema)] = read_objects(
        write_all(AlembicWriter(tmp_path / "a.abc", [mesh]), [[x]])
    )
    assert len(schema.getUVsParam().getIndexedValue(0).getVals()) == 4


def test_a_mesh_without_faces_is_written(tmp_path):
    mesh = ExportMesh("points", 4, [0], [])
    frames = motion([mesh], 2)
    archive, [(_, _, schema)] = read_objects(
        write_all(AlembicWriter(tmp_path / "a.abc", [mesh]), frames)
    )
    assert same_bits(points(schema, 1), y_up(frames[1][0]))
    assert len(schema.getFaceIndicesProperty().getValue(1)) == 0


def test_names_in_any_script_are_kept_and_made_unique(tmp_path):
    names = ["Bär 熊", "a/b;c=d", "a_b_c_d", "", "Bär 熊"]
    meshes = [triangle(name) for name in names]
    path = write_all(AlembicWriter(tmp_path / "a.abc", meshes), motion(meshes, 2))
    archive, objects = read_objects(path)
    expected = ["Bär 熊", "a_b_c_d", "a_b_c_d_2", "mesh", "Bär 熊_2"]
    assert [name for name, _, _ in objects] == expected


@pytest.mark.parametrize("up_axis", ["Y", "Z"])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_a_matrix_takes_positions_to_the_world(up_axis, scale, tmp_path):
    rng = np.random.default_rng(5)
    matrix = np.eye(4)
    matrix[:3] = rng.normal(size=(3, 4))
    frames = motion([BEAR, BEAR], 2)
    writer = AlembicWriter(
        tmp_path / "a.abc", [BEAR, BEAR], up_axis=up_axis, scale=scale, matrices=[matrix, None]
    )
    archive, objects = read_objects(write_all(writer, frames))
    (_, moved, schema), (_, still, _) = objects
    assert not moved.isConstantIdentity() and still.isConstantIdentity()
    stored = np.array([list(row) for row in moved.getValue().getMatrix()])
    x = points(schema, 1)
    world = frames[1][0] @ matrix[:3, :3].T + matrix[:3, 3]
    world = (y_up(world) if up_axis == "Y" else world) * scale
    found = np.append(x, np.ones((5, 1)), axis=1) @ stored
    assert np.allclose(found[:, :3], world, rtol=1e-6, atol=1e-6 * scale)
    low, high = box(archive_bounds(archive), 1)
    assert (low <= found[:, :3].min(axis=0)).all() and (high >= found[:, :3].max(axis=0)).all()


def test_boxes_are_those_of_the_points(tmp_path):
    frames = motion([BEAR, PLATE], 3)
    path = write_all(AlembicWriter(tmp_path / "a.abc", [BEAR, PLATE]), frames)
    archive, objects = read_objects(path)
    for frame, positions in enumerate(frames):
        placed = [y_up(x) for x in positions]
        for (_, _, schema), x in zip(objects, placed, strict=True):
            expected = [x.min(axis=0), x.max(axis=0)]
            assert np.array_equal(box(schema.getSelfBoundsProperty(), frame), expected)
        x = np.concatenate(placed)
        expected = [x.min(axis=0), x.max(axis=0)]
        assert np.array_equal(box(archive_bounds(archive), frame), expected)


def test_the_box_of_a_turned_mesh_reaches_no_farther_than_it_must(tmp_path):
    mesh, x = cube()
    turned = np.array([[0, -1, 0, 5], [1, 0, 0, 6], [0, 0, 2, 7], [0, 0, 0, 1]], float)
    writer = AlembicWriter(tmp_path / "a.abc", [mesh], matrices=[turned], up_axis="Z")
    archive, _ = read_objects(write_all(writer, [[x]]))
    assert np.array_equal(box(archive_bounds(archive), 0), [[4, 6, 7], [5, 7, 9]])


def test_velocities_are_kept_in_the_axes_and_units_of_the_file(tmp_path):
    frames, velocities = motion([BEAR], 3), motion([BEAR], 3, seed=1)
    writer = AlembicWriter(tmp_path / "a.abc", [BEAR], scale=2.0)
    archive, [(_, _, schema)] = read_objects(write_all(writer, frames, velocities))
    for frame, [v] in enumerate(velocities):
        found = numbers(schema.getVelocitiesProperty().getValue(frame))
        assert same_bits(found, y_up(2.0 * v))


def test_a_file_without_velocities_has_no_place_for_them(tmp_path):
    path = write_all(AlembicWriter(tmp_path / "a.abc", [BEAR]), motion([BEAR], 2))
    assert b".velocities" not in path.read_bytes()


@pytest.mark.parametrize("first_has", [True, False])
def test_velocities_of_some_frames_only_are_refused(first_has, tmp_path):
    frames = motion([BEAR], 2)
    with pytest.raises(SettingsError, match="every frame, or for none"):
        with AlembicWriter(tmp_path / "a.abc", [BEAR]) as writer:
            writer.write(frames[0], frames[0] if first_has else None)
            writer.write(frames[1], None if first_has else frames[1])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        ([np.eye(3)], r"\(4, 4\)"),
        ([np.full((4, 4), np.nan)], "finite"),
        ([np.eye(4) + np.eye(4, k=-3)], "last row"),
        ([], "each of 1 meshes"),
    ],
)
def test_matrices_that_are_none_are_refused(matrices, message, tmp_path):
    with pytest.raises(SettingsError, match=message):
        AlembicWriter(tmp_path / "a.abc", [BEAR], matrices=matrices)


def test_the_library_refuses_a_file_that_is_cut_short(tmp_path):
    path = write_all(AlembicWriter(tmp_path / "a.abc", [BEAR]), motion([BEAR], 3))
    data = path.read_bytes()
    for size in (0, 5, 16, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(RuntimeError):
            Abc.IArchive(str(path))


def test_the_library_refuses_a_file_that_was_never_completed(tmp_path):
    with AlembicWriter(tmp_path / "a.abc", [BEAR]) as writer:
        writer.write(motion([BEAR], 1)[0])
        [draft] = tmp_path.iterdir()
        writer._file.flush()
        (tmp_path / "copy.abc").write_bytes(draft.read_bytes())
    with pytest.raises(RuntimeError):
        Abc.IArchive(str(tmp_path / "copy.abc"))


def test_a_frame_costs_its_points_and_little_else(tmp_path):
    mesh, x = cube()
    sizes = [
        write_all(AlembicWriter(tmp_path / "a.abc", [mesh]), [[x + i] for i in range(count)])
        .stat()
        .st_size
        for count in (10, 11)
    ]
    block, box_block = 8 + 16, 8 + 16 + 48  # size and digest, and those with a box
    references = 2 * 8 + 8 + 8  # of an array, and of the boxes of mesh and archive
    assert sizes[1] - sizes[0] == block + 8 * 12 + 2 * box_block + references


def test_no_frame_stays_in_memory(tmp_path):
    mesh = ExportMesh("cloud", 10_000, [0, 3], [0, 1, 2])
    x = np.random.default_rng(0).normal(size=(10_000, 3))
    peaks = []
    for count in (10, 100):
        tracemalloc.start()
        write_all(AlembicWriter(tmp_path / "a.abc", [mesh]), ([x + i] for i in range(count)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 50_000  # half of one frame; 90 more were written
