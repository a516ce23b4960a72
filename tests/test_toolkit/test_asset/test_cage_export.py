import meshio
import numpy as np
import pytest
from sample_assets import hex_asset, tet_asset

from jellycage.toolkit.asset.cage_export import cage_mesh, surface_mesh, write_cage
from jellycage.toolkit.errors import SettingsError

ASSETS = [tet_asset(), hex_asset()]


@pytest.mark.parametrize("suffix", [".vtk", ".vtu", ".msh"])
@pytest.mark.parametrize("asset", ASSETS, ids=["tet", "hex"])
def test_meshio_reads_back_the_same_bits(asset, suffix, tmp_path):
    path = tmp_path / f"cage{suffix}"
    write_cage(asset, path)
    mesh = meshio.read(path)
    assert [block.type for block in mesh.cells] == [cage_mesh(asset).cells[0].type]
    assert mesh.points.astype(float).tobytes() == asset.cage_nodes.tobytes()
    assert np.array_equal(mesh.cells[0].data, asset.elements)
    for name in ("cage_fill", "element_piece", "element_cell"):
        assert np.array_equal(np.ravel(mesh.cell_data[name][0]), getattr(asset, name))
    assert list(tmp_path.iterdir()) == [path]


def test_the_surface_comes_back_in_the_order_of_the_file():
    asset = tet_asset()
    mesh = surface_mesh(asset)
    order = [3, 2, 1, 0]  # file rows 0, 1, 3, 4; row 2 was used by no face
    assert np.array_equal(mesh.vertices, asset.surface_vertices[order])
    assert np.array_equal(mesh.vertices[mesh.faces], asset.surface_vertices[asset.surface_faces])
    assert mesh.polygon_vertices.tolist() == [3, 2, 1, 0]
    assert mesh.polygon_start.tolist() == [0, 4]
    assert mesh.uv_index.tolist() == [0, 1, 2, 3]


def test_polygons_with_vanished_corners_become_triangles():
    mesh = surface_mesh(tet_asset(polygon_vertices=[4, 3, 2, 0]))
    assert mesh.polygon_start is None and mesh.uv is None and len(mesh.faces) == 2


@pytest.mark.parametrize("name", ["cage.abc", "cage", "cage.npz"])
def test_an_unknown_suffix_names_the_known_ones(name, tmp_path):
    with pytest.raises(SettingsError, match=".vtk"):
        write_cage(tet_asset(), tmp_path / name)


def test_an_obj_has_the_polygons_and_uvs_of_the_file(tmp_path):
    write_cage(tet_asset(), tmp_path / "fan.obj")
    lines = (tmp_path / "fan.obj").read_text().splitlines()
    assert [line for line in lines if line.startswith("f ")] == ["f 4/1 3/2 2/3 1/4"]
    assert sum(line.startswith("vt ") for line in lines) == 4
