import numpy as np
import pytest
from sample_assets import hex_asset, tet_asset
from shapes import box, subdivided

from jellycage.toolkit import build_cage
from jellycage.toolkit.asset.asset import ARRAYS
from jellycage.toolkit.errors import AssetError


@pytest.mark.parametrize("asset", [tet_asset(), hex_asset()], ids=["tet", "hex"])
def test_arrays_are_read_only_and_of_the_promised_type(asset):
    for name, (dtype, _) in ARRAYS.items():
        array = getattr(asset, name)
        if array is not None:
            assert array.dtype == dtype and array.flags.c_contiguous and not array.flags.writeable


@pytest.mark.parametrize(
    "changes",
    [
        {"surface_faces": [[0, 1, 4], [0, 2, 3]]},
        {"surface_faces": [[0, 1, 2.5], [0, 2, 3]]},
        {"surface_vertices": np.full((4, 3), np.nan)},
        {"surface_vertices": np.zeros((4, 2))},
        {"source_vertex": [0, 1, 2]},
        {"source_vertex": [0, 1, 2, -1]},
        {"source_vertex": [0, 1, 2, 2**40]},
        {"source_vertex": None},
        {"cage_tets": None},
        {"cage_hexes": np.zeros((2, 8), int)},
        {"cage_tets": [[0, 1, 2, 5], [1, 4, 2, 3]]},
        {"embed_element": [0, 0, 0, 2]},
        {"embed_weights": np.full((4, 8), 0.125)},
        {"cage_fill": [1.0]},
        {"piece_start": [0, 3, 2]},
        {"piece_start": [0, 2]},
        {"piece_triangles": [0, 2]},
        {"polygon_start": None},
        {"polygon_start": [1, 4]},
        {"polygon_vertices": [4, 3, 1, -1]},
        {"uv": None},
        {"uv_index": [0, 1, 2, 4]},
        {"uv_index": [0, 1, 2]},
        {"meta": {"cell_size": float("nan")}},
        {"meta": {"mesh": {1, 2}}},
        {"meta": ["a list"]},
    ],
    ids=str,
)
def test_what_does_not_fit_together_is_refused_in_one_line(changes):
    with pytest.raises(AssetError) as caught:
        tet_asset(**changes)
    assert "\n" not in str(caught.value)


def test_meta_is_kept_as_json_gives_it_back():
    asset = tet_asset(meta={"shape": (1, 2), "count": np.int32(3), "origin": np.zeros(3)})
    assert asset.meta == {"shape": [1, 2], "count": 3, "origin": [0.0, 0.0, 0.0]}


@pytest.mark.slow
def test_a_stretched_asset_has_the_areas_that_it_would_have_had():
    """Those of triangles that are stretched with it, and a closed surface stays closed."""
    asset = build_cage(subdivided(box((1.0, 0.8, 0.6)), 2), resolution=4)
    matrix = np.array([[2.0, 0.3, 0.0], [0.3, 0.5, 0.1], [0.0, 0.1, 1.5]])
    surface = asset.stretched(matrix).collision
    corners = surface.posed(asset.cage_nodes @ matrix)[surface.vertices]
    normals = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    patch = surface.triangle_patch
    area = np.bincount(patch, np.linalg.norm(normals, axis=1))
    np.testing.assert_allclose(surface.patch_area, area, rtol=1e-12)
    np.testing.assert_allclose(surface.patch_vector_area.sum(axis=0), 0.0, atol=1e-12)
    middle = np.stack([np.bincount(patch, area_of) for area_of in normals.T], axis=1)
    np.testing.assert_allclose(surface.patch_vector_area, middle, atol=1e-12)
