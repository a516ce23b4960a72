"""Meshes handed over as numpy arrays."""

import io

import numpy as np
import pytest
from sample_assets import tet_asset
from shapes import QUADS, box

from jellycage.toolkit.asset.asset_file import save_asset
from jellycage.toolkit.errors import MeshError
from jellycage.toolkit.mesh.mesh_io import read_mesh

VERTICES = box()[0]


def saved(folder, **arrays):
    path = folder / "mesh.npz"
    np.savez(path, **arrays)
    return path


def refusal(path):
    with pytest.raises(MeshError) as caught:
        read_mesh(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)
    return str(caught.value)


def test_polygons_uvs_and_attributes_come_back_as_they_were(tmp_path):
    uv = np.random.default_rng(1).random((24, 2))
    path = saved(
        tmp_path,
        vertices=VERTICES,
        polygon_start=np.arange(7) * 4,
        polygon_vertices=np.ravel(QUADS),
        uv=uv,
        uv_index=np.arange(24),
        pin=np.linspace(0.0, 1.0, 8, dtype=np.float32),
        flag=np.arange(8) % 2 == 0,
        other=np.zeros(3),
        words=np.array(["a"] * 8),
    )
    mesh = read_mesh(path)
    np.testing.assert_array_equal(mesh.vertices, VERTICES)
    np.testing.assert_array_equal(mesh.polygon_vertices, np.ravel(QUADS))
    np.testing.assert_array_equal(mesh.uv, uv)
    assert len(mesh.faces) == 12 and mesh.volume() == pytest.approx(1.0)
    assert set(mesh.attributes) == {"pin", "flag"}
    np.testing.assert_array_equal(mesh.attributes["pin"], np.linspace(0, 1, 8, dtype=np.float32))


@pytest.mark.parametrize("faces", [np.array(QUADS), box()[1]], ids=["quads", "triangles"])
def test_faces_of_one_size_are_enough(faces, tmp_path):
    mesh = read_mesh(saved(tmp_path, vertices=VERTICES, faces=faces))
    assert mesh.volume() == pytest.approx(1.0) and mesh.polygon_count() == len(faces)


@pytest.mark.parametrize(
    ("arrays", "word"),
    [
        ({"faces": box()[1]}, "vertices"),
        ({"vertices": VERTICES}, "faces"),
        ({"vertices": VERTICES, "polygon_start": np.arange(3)}, "polygon_vertices"),
        ({"vertices": VERTICES, "faces": np.arange(6)}, "faces"),
        ({"vertices": VERTICES, "faces": np.full((2, 3), 9)}, "faces"),
        ({"vertices": VERTICES, "faces": np.zeros((2, 3))}, "whole numbers"),
        ({"vertices": np.zeros((4, 2)), "faces": box()[1]}, "vertices"),
        (
            {"vertices": VERTICES, "polygon_start": [0, 4, 3], "polygon_vertices": np.arange(3)},
            "polygon_start",
        ),
        (
            {"vertices": VERTICES, "polygon_start": [[0, 3]], "polygon_vertices": np.arange(3)},
            "polygon_start",
        ),
        ({"vertices": np.array([None, {}]), "faces": box()[1]}, "savez"),
    ],
)
def test_what_is_no_mesh_is_refused_by_name(arrays, word, tmp_path):
    assert word in refusal(saved(tmp_path, **arrays))


def test_assets_single_arrays_and_damage_are_refused(tmp_path):
    asset = tmp_path / "asset.npz"
    save_asset(tet_asset(), asset)
    assert "asset" in refusal(asset)
    lone = io.BytesIO()
    np.save(lone, VERTICES)
    whole = saved(tmp_path, vertices=VERTICES, faces=box()[1]).read_bytes()
    for data in (lone.getvalue(), whole[: len(whole) // 2], b"PK\x03\x04", whole[:-1]):
        path = tmp_path / "broken.npz"
        path.write_bytes(data)
        assert "savez" in refusal(path)
