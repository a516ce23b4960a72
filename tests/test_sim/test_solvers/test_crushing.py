"""What is crushed flat and let go is warned of, and comes back."""

import pytest
from crushing import crushed
from shapes import box

from jellycage import sim, toolkit
from jellycage.sim.soft.presets import PRESETS, preset_material

GRAVITY = (0.0, 0.0, -9.81)
MATERIALS = {
    "jelly": preset_material(PRESETS["jelly"], 1.0, GRAVITY)[0],
    "stiff": sim.NeoHookean(1e6, 0.3, 1000.0),
    "stiff and tight": sim.NeoHookean(1e6, 0.48, 1000.0),
    "co-rotated": sim.Corotated(1e6, 0.45, 1000.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["bdf2", "implicit_euler"])
@pytest.mark.parametrize("element", ["tet", "hex"])
@pytest.mark.parametrize("material", MATERIALS)
def test_a_body_crushed_to_a_twentieth_comes_back(element, material, integrator):
    asset = toolkit.build_cage(
        toolkit.TriMesh(*box((1.0, 1.0, 1.0))), resolution=4, element=element
    )
    settings = sim.SolverSettings(newton_iterations=2, integrator=integrator)
    outcome = crushed(sim.SoftBody(asset, MATERIALS[material]), settings)
    assert outcome.is_good, outcome
    assert outcome.widest < 5.0, outcome
