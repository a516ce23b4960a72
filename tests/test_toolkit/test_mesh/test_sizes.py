"""Bodies of a thousand metres or a thousandth of a millimetre are asked about, in terms of what to do."""

import numpy as np
import pytest
from mesh_files import CUBE_OBJ
from shapes import box

from jellycage.toolkit.errors import MeshError
from jellycage.toolkit.mesh.mesh import as_mesh
from jellycage.toolkit.mesh.mesh_io import read_mesh
from jellycage.toolkit.mesh.repair import mesh_report
from jellycage.toolkit.mesh.sizes import size_notes
from jellycage.toolkit.prepare import build_cage


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (1600.0, ("1600 m", "--input-scale 0.001", 'units = "mm"', "0.01 if in centimetres")),
        (100.1, ("100.1 m", "--input-scale 0.001")),
        (99.0, ()),
        (1.0, ()),
        (2e-3, ()),
        (5e-4, ("0.0005 m", "--input-scale 1000", "units = 1000")),
    ],
)
def test_an_unlikely_size_is_asked_about_by_every_report(size, words):
    vertices, faces = box()
    mesh = as_mesh((vertices * [0.3, size, 0.2] if size > 1.0 else vertices * size, faces))
    for told in (
        size_notes(mesh.vertices),
        mesh_report(mesh).problems,
        build_cage(mesh, resolution=2, collision=False).meta["warnings"],
    ):
        said = [text for text in told if " m long: " in text]
        assert len(said) == bool(words)
        assert all(word in said[0] for word in words)


def test_nothing_has_no_size():
    assert size_notes(np.zeros((0, 3))) == size_notes(np.zeros((4, 3))) == ()


def test_a_mesh_is_scaled_as_it_is_read(tmp_path):
    path = tmp_path / "cube.obj"
    path.write_text(CUBE_OBJ)
    plain, scaled = read_mesh(path), read_mesh(path, scale=0.0254)
    assert np.array_equal(scaled.vertices, 0.0254 * plain.vertices)
    assert np.array_equal(scaled.faces, plain.faces)
    assert read_mesh(path, scale=1.0).vertices.tobytes() == plain.vertices.tobytes()
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(MeshError, match="the scale must be a positive number"):
            read_mesh(path, scale=wrong)
